#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace scorecast::launcher {

/// The signals that end a command: SIGTERM, SIGINT and SIGUSR1. A thread of its own receives them.
/// What a rank is to do with them is known only when Open MPI has told it which one it is.
class EndSignals {
 public:
  /// What is done with a signal. `received` is the number of signals so far, this one included.
  /// Must return soon, and must not call Handle.
  using Handler = std::function<void(int received, int signal)>;

  /// The only instance. From the first call on the signals do not end the process. It is never
  /// destroyed, because a signal would then kill the process.
  static EndSignals& Get();

  /// Calls `handler` for each signal that has come, and from now on for each that comes. When this
  /// returns, the handler before it is not running.
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

/// Ignores these signals on the other ranks. These end when rank 0 tells them to, or when it is
/// gone.
void LeaveSignalsToRankZero();

}  // namespace scorecast::launcher
