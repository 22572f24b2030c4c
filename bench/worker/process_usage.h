#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace scorecast::bench {

/// CPU seconds of all threads of this process.
double ProcessCpuSeconds();
/// CPU seconds of the calling thread.
double ThreadCpuSeconds();

/// Pages that this process has touched for the first time so far, and that needed no disk.
std::int64_t ProcessPageFaults();

/// Resident memory of this process, in bytes.
struct ResidentMemory {
  std::int64_t anonymous = 0;
  std::int64_t file = 0;  ///< Pages of mapped files.
  std::int64_t shared = 0;
  std::int64_t peak = 0;  ///< Peak of the sum of the three since the process began.
};

/// Throws std::runtime_error if the kernel does not have these figures.
ResidentMemory ProcessMemory();

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
