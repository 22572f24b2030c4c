#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace scorecast::launcher {

// What ends a command: signals, or other ranks that do not end.

/// The signals that end a command: SIGTERM, SIGINT and SIGUSR1. A separate thread receives them,
/// because what a rank has to do with them is known only when Open MPI has told it which rank it
/// is.
class EndSignals {
 public:
  /// Handles a signal. `received` is the number of signals so far, this one included. Must return
  /// soon, and must not call Handle.
  using Handler = std::function<void(int received, int signal)>;

  /// The only instance. From the first call on, these signals no longer end the process. The
  /// instance is never destroyed, because a signal would then kill the process.
  static EndSignals& Get();

  /// Calls `handler` for each signal that has already come, and from now on for each new one. When
  /// this returns, the previous handler is not running.
  void Handle(Handler handler);

 private:
  struct Receiver;

  EndSignals();
  ~EndSignals() = delete;
  void Received(int signal);

  std::mutex mutex_;
  Handler handler_;
  std::vector<int> received_;
  std::unique_ptr<Receiver> receiver_;
};

/// Called on the other ranks: ignores these signals. The other ranks end when rank 0 tells them to,
/// or when rank 0 is gone.
void LeaveSignalsToRankZero();

/// Ends the process at once, with kExitRanksStuck. The other ranks notice it, and end as well.
[[noreturn]] void EndWithStuckRanks(const char* message);

/// Ends the process if it is still running after `time`, because other ranks have not ended. At
/// that time the watchdog no longer looks.
void LimitTimeOfEnd(std::chrono::duration<double> time);

}  // namespace scorecast::launcher
