#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/queue/admission.h"

namespace scorecast::coordinator {

/// A server on a virtual clock that is fair between addresses, and between the connections of each,
/// in quanta of work. It computes nothing: a job is a number of seconds.
class SharedServer {
 public:
  static constexpr double kQuantum = 0.02;

  struct Done {
    std::size_t job = 0;
    ClientId client;
  };

  void Add(std::size_t job, const ClientId& client, double seconds, double weight = 1);
  /// Works for a quantum, or until a job is done. There is work.
  std::optional<Done> Work();
  /// Waits until then, if it is later than now.
  void WaitUntil(double seconds);

  bool is_idle() const { return addresses_.empty(); }
  /// Since the beginning.
  double now() const { return now_; }
  Clock::time_point time() const;
  /// When a job began, if it has.
  std::optional<double> Began(std::size_t job) const;
  /// Seconds of the work that waits.
  double SecondsOf(const ClientId& client) const;

  /// What a job of the client would find. Its jobs are of `tokens` tokens each.
  QueueState StateFor(const ClientId& client, std::int64_t tokens) const;

 private:
  struct Job {
    std::size_t number = 0;
    double seconds = 0;
    double weight = 1;
  };
  struct Connection {
    double tag = 0;
    std::deque<Job> jobs;
  };
  struct Address {
    double tag = 0;
    std::map<std::uint64_t, Connection> connections;
  };

  double now_ = 0;
  std::map<ClientName, Address> addresses_;  ///< Those with jobs, like their connections.
  std::map<std::size_t, double> began_;
};

}  // namespace scorecast::coordinator
