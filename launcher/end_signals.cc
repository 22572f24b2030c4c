#include "launcher/end_signals.h"

#include <csignal>
#include <cstddef>
#include <utility>

namespace scorecast::launcher {

EndSignals& EndSignals::Get() {
  static auto* const signals = new EndSignals;
  return *signals;
}

EndSignals::EndSignals() : signals_(io_, SIGTERM, SIGINT, SIGUSR1) {
  Wait();
  thread_ = std::thread([this] { io_.run(); });
}

void EndSignals::Handle(Handler handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
  for (std::size_t i = 0; i < received_.size(); ++i) {
    handler_(static_cast<int>(i) + 1, received_[i]);
  }
}

void EndSignals::Wait() {
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) {
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      received_.push_back(signal);
      if (handler_) {
        handler_(static_cast<int>(received_.size()), signal);
      }
    }
    Wait();
  });
}

void LeaveSignalsToRankZero() {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    std::signal(signal, SIG_IGN);
  }
}

}  // namespace scorecast::launcher
