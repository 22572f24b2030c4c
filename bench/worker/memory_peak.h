#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace scorecast::bench {

/// Looks at this process's memory every few milliseconds, on a thread of its own, for what the
/// system keeps no peak of.
class MemoryPeak {
 public:
  MemoryPeak();

  /// The most anonymous and shared memory together since the last Take, in bytes.
  std::int64_t Take();

 private:
  void Look();

  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::int64_t most_ = 0;
  std::jthread thread_;  // Last, so that it ends before what it uses does.
};

}  // namespace scorecast::bench
