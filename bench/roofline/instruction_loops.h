#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shard/runtime/thread_pool.h"

namespace scorecast::bench {

/// A loop of one multiply-add instruction on registers alone: what the CPU can do at most.
struct InstructionLoop {
  std::string instruction;  ///< E.g. "vdpbf16ps zmm".
  double operations = 0;    ///< Of one iteration; a multiplication and an addition are two.
  void (*run)(std::int64_t iterations) = nullptr;
};

/// The loops for products of a dtype ("f32", "bf16", "int8") that this CPU and kernel have, the
/// widest last. Empty where there are none.
std::vector<InstructionLoop> InstructionLoops(const std::string& dtype);

/// Operations per second of all the pool's threads together, over about 50 ms.
double OperationsPerSecond(const InstructionLoop& loop, shard::ThreadPool& pool);

}  // namespace scorecast::bench
