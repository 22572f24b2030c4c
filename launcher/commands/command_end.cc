#include "launcher/commands/command_end.h"

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "launcher/commands/commands.h"
#include "proto/log/log.h"

namespace scorecast::launcher {

/// Waits for the signals on its thread.
struct EndSignals::Receiver {
  explicit Receiver(EndSignals& owner) : signals(io, SIGTERM, SIGINT, SIGUSR1) {
    Wait(owner);
    thread = std::thread([this] { io.run(); });
  }

  void Wait(EndSignals& owner) {
    signals.async_wait([this, &owner](boost::system::error_code error, int signal) {
      if (!error) {
        owner.Received(signal);
        Wait(owner);
      }
    });
  }

  boost::asio::io_context io;
  boost::asio::signal_set signals;
  std::thread thread;
};

EndSignals& EndSignals::Get() {
  static auto* const signals = new EndSignals;
  return *signals;
}

EndSignals::EndSignals() : receiver_(std::make_unique<Receiver>(*this)) {}

void EndSignals::Handle(Handler handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
  for (std::size_t i = 0; i < received_.size(); ++i) {
    handler_(static_cast<int>(i) + 1, received_[i]);
  }
}

void EndSignals::Received(int signal) {
  const std::lock_guard lock(mutex_);
  received_.push_back(signal);
  if (handler_) {
    handler_(static_cast<int>(received_.size()), signal);
  }
}

void LeaveSignalsToRankZero() {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    std::signal(signal, SIG_IGN);
  }
}

void EndWithStuckRanks(const char* message) {
  proto::LogError("{}", message);
  std::quick_exit(kExitRanksStuck);
}

void LimitTimeOfEnd(std::chrono::duration<double> time) {
  std::thread([time] {
    std::this_thread::sleep_for(time);
    EndWithStuckRanks("the other ranks do not end: leaving them");
  }).detach();
}

}  // namespace scorecast::launcher
