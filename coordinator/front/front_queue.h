#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/queue/fair_queue.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

struct FrontQueueOptions {
  /// A request that would have to wait longer is refused; unset: none is.
  std::optional<double> max_wait_seconds = std::nullopt;
  /// For so long requests wait for a replica after the last one of their model has gone. Unset: for
  /// as long as it takes.
  std::optional<std::chrono::milliseconds> patience = std::chrono::seconds(3);
  /// Upper bound on the bytes of all requests that wait.
  std::size_t max_bytes = std::size_t{1} << 30;
};

/// A request that waits.
struct WaitingRequest {
  std::uint64_t ticket = 0;  ///< Greater than that of every request that arrived before.
  ClientId client;
  double seconds = 0;  ///< Predicted for the request itself.
  std::size_t bytes = 0;
  std::optional<Clock::time_point> deadline = std::nullopt;
  std::int32_t priority = 0;  ///< At least 0, which is the best one.
  bool is_suspect = false;    ///< See Forwarder. Only of one that comes back.
};

/// The replicas of a model at this moment.
struct UsableReplicas {
  std::size_t count = 0;
  double wait_seconds = 0;  ///< Predicted for the one where it is shortest.
};

/// The requests that wait in a front, because enough of its requests wait at every replica. Those
/// of each model are served in the order of a FairQueue over networks, their addresses and the
/// connections of these, as in a server; those of one connection and priority in the order of
/// arrival. A client has its share of all replicas together, however many there are. The priorities
/// that requests ask for are left to the replicas.
///
/// Pure: told the time. Not safe for several threads.
class FrontQueue {
 public:
  /// A request that ended in the queue.
  struct Refused {
    std::uint64_t ticket = 0;
    proto::Error error;
  };

  explicit FrontQueue(const FrontQueueOptions& options) : options_(options) {}

  /// Adds a request, or returns why it is refused.
  std::optional<proto::Error> Add(const std::string& model, const WaitingRequest& request,
                                  const UsableReplicas& replicas, Clock::time_point now);
  /// A request that was taken comes back, because its replica is lost. It is served before all
  /// others but those that came back and had arrived earlier, and has been charged already.
  void Return(const std::string& model, const WaitingRequest& request, Clock::time_point now);
  /// Its client has left. False if it does not wait.
  bool Remove(std::uint64_t ticket);
  /// Moves the requests of a model to another one, whose replicas serve them, too.
  void Move(const std::string& from, const std::string& to, Clock::time_point now);

  /// The request of the model that is served next, of those that are no suspects unless
  /// `with_suspects`. The same one until the queue changes.
  std::optional<WaitingRequest> Next(const std::string& model, bool with_suspects = true);
  /// The request that Next returned last leaves the queue, which has not changed since, and its
  /// client is charged for it.
  void Take(const std::string& model);
  /// Charges the client of a request that is not in the queue for so much more, or less.
  void Charge(const std::string& model, const WaitingRequest& request, double seconds);

  /// The models of which a replica can be used, and of no other: see FrontQueueOptions::patience.
  void SetUsable(const std::set<std::string>& models, Clock::time_point now);
  /// Takes out requests whose deadline has passed, or for which no replica has come in time.
  std::vector<Refused> Expire(Clock::time_point now);
  /// When Expire is to be called next, if the queue does not change.
  std::optional<Clock::time_point> next_expiry() const;

  /// Models for which requests wait.
  std::vector<std::string> models() const;
  /// Of one model, in the order of arrival.
  std::vector<std::uint64_t> TicketsOf(const std::string& model) const;
  /// Number of these.
  std::size_t SizeOf(const std::string& model) const;
  /// What is predicted for these together.
  double SecondsOf(const std::string& model) const;
  std::size_t size() const { return entries_.size(); }

 private:
  /// The requests of one model.
  struct Line {
    FairQueue fair;
    std::set<std::uint64_t> suspects;  ///< Tickets of requests that came back.
    std::set<std::uint64_t> returned;  ///< The same of those that are no suspects.
    std::uint64_t next = 0;            ///< What Next returned last.
    double seconds = 0;                ///< Of all requests.
    std::set<std::uint64_t> tickets;   ///< Of all requests.
    /// Requests and their seconds by client, whatever its connection.
    std::map<ClientId, std::pair<std::size_t, double>> by_client;
    std::optional<Clock::time_point> absent_since;  ///< No replica can be used since then.
    bool is_known = false;                          ///< Replicas of it could be used at some time.
  };
  using Lines = std::map<std::string, Line>;
  struct Entry {
    WaitingRequest request;
    Lines::iterator line;
    bool is_returned = false;
  };
  using Entries = std::map<std::uint64_t, Entry>;

  void Insert(Lines::iterator line, const WaitingRequest& request, bool is_returned);
  void Erase(Entries::iterator entry);
  /// Lines of models without known replicas are not kept.
  void ForgetIfEmpty(Lines::iterator line);
  Lines::iterator LineOf(const std::string& model, bool has_replicas, Clock::time_point now);
  static double WaitOf(const Line& line, const WaitingRequest& request,
                       const UsableReplicas& replicas);
  std::optional<proto::Error> RefusalOf(const Line& line, const WaitingRequest& request,
                                        const UsableReplicas& replicas,
                                        Clock::time_point now) const;
  bool IsAbandoned(const Line& line, Clock::time_point now) const;

  const FrontQueueOptions options_;
  Lines lines_;
  Entries entries_;
  std::set<std::pair<Clock::time_point, std::uint64_t>> deadlines_;
  std::size_t bytes_ = 0;
};

}  // namespace scorecast::coordinator
