#pragma once

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

namespace scorecast::launcher {

/// The signals that end a command on rank 0: SIGTERM, SIGINT and SIGUSR1. A thread of its own
/// receives them.
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
  EndSignals();
  void Wait();

  boost::asio::io_context io_;
  boost::asio::signal_set signals_;
  std::mutex mutex_;
  Handler handler_;
  std::vector<int> received_;
  std::thread thread_;
};

/// Ignores these signals on the other ranks. These end when rank 0 tells them to, or when it is
/// gone.
void LeaveSignalsToRankZero();

}  // namespace scorecast::launcher
