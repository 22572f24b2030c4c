#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace scorecast::bench {

/// Samples this process's memory every few milliseconds on a thread of its own, because the system
/// does not record this peak.
class MemoryPeak {
 public:
  MemoryPeak();

  /// The peak of anonymous plus shared memory since the last Take, in bytes.
  std::int64_t Take();

 private:
  void Look();

  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::int64_t most_ = 0;
  std::jthread thread_;  // Last member, so that it ends before the members that it uses.
};

}  // namespace scorecast::bench
