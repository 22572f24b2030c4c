#include "bench/worker/memory_peak.h"

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

#include "bench/worker/process_usage.h"

namespace scorecast::bench {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(5);

}  // namespace

MemoryPeak::MemoryPeak()
    : thread_([this](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
          Look();
          stopped_.wait_for(lock, stop, kPeriod, [] { return false; });
        }
      }) {}

std::int64_t MemoryPeak::Take() {
  const std::lock_guard lock(mutex_);
  Look();
  return std::exchange(most_, 0);
}

void MemoryPeak::Look() {
  const ResidentMemory memory = ProcessMemory();
  most_ = std::max(most_, memory.anonymous + memory.shared);
}

}  // namespace scorecast::bench
