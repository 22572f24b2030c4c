#pragma once

#include <cstdint>

namespace scorecast::bench {

/// Seconds that all threads of this process were on a CPU.
double ProcessCpuSeconds();

/// Pages that this process has touched for the first time so far, and that needed no disk.
std::int64_t ProcessPageFaults();

/// Resident memory of this process, in bytes.
struct ResidentMemory {
  std::int64_t anonymous = 0;
  std::int64_t file = 0;  ///< Pages of mapped files.
  std::int64_t shared = 0;
  std::int64_t peak = 0;  ///< The most of all three together since it began.
};

/// std::runtime_error where the kernel does not tell.
ResidentMemory ProcessMemory();

}  // namespace scorecast::bench
