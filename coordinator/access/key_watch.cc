#include "coordinator/access/key_watch.h"

namespace scorecast::coordinator {

KeyWatch::KeyWatch(ApiKeys& keys, std::chrono::milliseconds interval)
    : keys_(keys),
      thread_([this, interval](const std::stop_token& stop) { Run(stop, interval); }) {}

void KeyWatch::Run(const std::stop_token& stop, std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, interval, [] { return false; });
    if (!stop.stop_requested()) {
      static_cast<void>(keys_.Reload());  // Logs what it finds.
    }
  }
}

}  // namespace scorecast::coordinator
