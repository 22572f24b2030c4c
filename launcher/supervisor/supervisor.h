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

/// Runs a job, starts it again when it fails, and holds its listening sockets meanwhile.
class Supervisor {
 public:
  /// `sockets`: by name, those that systemd has opened. Others are bound when rank 0 asks for them
  /// for the first time, and listen when it is ready for the first time.
  Supervisor(std::vector<std::string> command, const RestartLimits& limits,
             std::map<std::string, Descriptor> sockets);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Returns when the job has ended and is not to be started again. The exit code: 0 after a drain,
  /// and if the job ended with 0 by itself; else the job's.
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
  /// Logs what it waits for if a job that was ready before has not come back for some seconds.
  /// Returns the time of the next such line.
  TimePoint LogLongWait();
  /// Waits until something happens, at most until `until`, and handles it.
  void HandleEvents(TimePoint until);
  void HandleSignals();
  /// Those that rank 0 has sent.
  void HandleMessages();
  void HandleMessage(const Message& message);
  void SendSocket(const SocketRequest& request);
  void LoseRankZero();
  /// The job that runs has failed, unless that is known already.
  void NoteFault();
  /// Closes the listening sockets if the last job drains, so that new clients are refused instead
  /// of waiting for nothing.
  void CloseSockets();
  void Stop();
  /// Sends the signals whose time has come. Returns the time of the next one.
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
  /// From the moment when a fault was noticed until a job is ready again.
  struct Downtime {
    TimePoint begin;
    Clock::duration ends{};    ///< Until no process of the jobs that failed was left.
    Clock::duration delays{};  ///< Before restarts.
  };
  std::optional<Downtime> downtime_;

  // These belong to the job that runs.
  std::unique_ptr<Job> job_;
  bool can_drain_ = false;  ///< Rank 0 drains on SIGUSR1, and its sockets listen.
  bool is_draining_ = false;
  bool is_ready_ = false;
  std::optional<TimePoint> failed_at_;  ///< When its end was noticed, or that of rank 0.
  std::optional<WaitNotice> notice_;    ///< Of the wait for the job's start or end.
  std::chrono::milliseconds drain_time_{0};
  std::deque<LaterSignal> later_signals_;
};

}  // namespace scorecast::launcher
