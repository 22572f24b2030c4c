#pragma once

#include <cstdint>

namespace scorecast::bench {

/// CPU seconds of all threads of this process.
double ProcessCpuSeconds();

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

}  // namespace scorecast::bench
