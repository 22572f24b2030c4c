#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shard/kernels/cpu_features.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::bench {

/// A loop of one multiply-add instruction on registers only. Its rate is the most that the CPU
/// reaches.
struct InstructionLoop {
  std::string instruction;  ///< E.g. "vdpbf16ps zmm".
  double operations = 0;    ///< Per iteration; a multiplication and an addition count as two.
  void (*run)(std::int64_t iterations) = nullptr;
};

/// The loops for a dtype ("f32", "bf16", "int8") on a CPU with these features, the widest last.
/// Without instructions for bf16, they are those of f32, because factors are then widened. Empty if
/// there are none.
std::vector<InstructionLoop> InstructionLoops(const std::string& dtype,
                                              shard::CpuFeatures features);

/// Operations per second of all threads of the pool together, measured for about 50 ms.
double OperationsPerSecond(const InstructionLoop& loop, shard::ThreadPool& pool);

}  // namespace scorecast::bench
