#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/address/address_file.h"
#include "launcher/supervisor/job.h"
#include "launcher/supervisor/job_directory.h"
#include "launcher/supervisor/restart_policy.h"
#include "launcher/supervisor/signal_pipe.h"
#include "launcher/supervisor/wait_notice.h"

namespace scorecast::launcher {

/// Runs a job, starts it again when it fails, and keeps its listening sockets open meanwhile.
class Supervisor {
 public:
  /// `sockets` are the sockets that systemd has opened, by name. Other sockets are bound when rank
  /// 0 first asks for them, and listen when rank 0 is ready for the first time.
  Supervisor(std::vector<std::string> command, const RestartLimits& limits,
             std::map<std::string, Descriptor> sockets);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Returns when the job has ended and is not to be started again. Returns the exit code: 0 after
  /// a drain, otherwise the job's.
  int Run();

 private:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;

  /// A signal at a later time, unless the job has ended by then: SIGUSR1 to rank 0, others to the
  /// launcher.
  struct LaterSignal {
    TimePoint at;
    int signal;
  };

  /// Runs a job to its end and returns its exit code.
  int RunJob();
  void LogReady();
  /// If a job that was ready before has not come back for some seconds, logs what the supervisor
  /// waits for. Returns the time of the next such line.
  TimePoint LogLongWait();
  /// Waits until something happens, at most until `until`, and handles it.
  void HandleEvents(TimePoint until);
  void HandleSignals();
  /// Handles all messages that rank 0 has sent.
  void HandleMessages();
  void HandleMessage(const Message& message);
  void SendSocket(const SocketRequest& request);
  void LoseRankZero();
  /// Notes that the running job has failed, unless that is known already.
  void NoteFault();
  /// Closes the listening sockets if the last job drains. New clients are then refused; otherwise
  /// they would wait for nothing.
  void CloseSockets();
  void Stop();
  /// Sends the signals that are due. Returns the time of the next signal.
  TimePoint SendLaterSignals();
  bool is_stopping() const { return stop_requests_ > 0; }

  const std::vector<std::string> command_;
  const RestartLimits limits_;
  std::map<std::string, Descriptor> sockets_;
  std::optional<AddressFile> address_file_;  ///< Written last by a rank 0.
  RestartPolicy policy_;
  SupervisorDirectory directory_;
  SignalPipe signals_;
  int stop_requests_ = 0;
  /// The time from the moment when a fault was noticed until a job is ready again.
  struct Downtime {
    TimePoint begin;
    Clock::duration ends{};    ///< Until no process of the jobs that failed was left.
    Clock::duration delays{};  ///< Before restarts.
  };
  std::optional<Downtime> downtime_;

  // The members below belong to the running job.
  std::unique_ptr<Job> job_;
  bool can_drain_ = false;  ///< Rank 0 drains on SIGUSR1, and its sockets listen.
  bool is_draining_ = false;
  bool is_ready_ = false;
  std::optional<TimePoint> failed_at_;  ///< When its end was noticed, or that of rank 0.
  std::optional<WaitNotice> notice_;    ///< For the wait for the job's start or end.
  std::chrono::milliseconds drain_time_{0};
  std::deque<LaterSignal> later_signals_;
};

}  // namespace scorecast::launcher
