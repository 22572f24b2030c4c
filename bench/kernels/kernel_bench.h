#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/bench_engine.h"
#include "bench/kernels/kernel_cases.h"
#include "bench/roofline/instruction_loops.h"
#include "bench/roofline/memory_reads.h"

namespace scorecast::bench {

/// Rates of a kernel, and of the bare instruction and of bare reads of memory, which run in turns
/// with it: medians.
struct KernelRates {
  KernelRun counts;
  double seconds = 0;                           ///< CPU time of one run.
  std::optional<double> operations_per_second;  ///< Of the bare instruction.
  std::optional<double> bytes_per_second;       ///< Of bare reads.
  /// Time of the kernel's operations by the bare instruction, over the kernel's time.
  std::optional<double> share_of_bare;
  /// Operations of the bare instruction in the time of one element.
  std::optional<double> operations_an_element;
  /// Time of bare reads of the kernel's bytes, over the kernel's time.
  std::optional<double> share_of_reads;
};

/// Measures kernels of an engine of one thread, by that thread's CPU time, so that other programs
/// disturb them little.
class KernelBench {
 public:
  KernelBench(BenchEngine& engine, const std::string& dtype);

  std::vector<std::string> names() const;
  /// nullopt if there is no kernel of this name.
  std::optional<KernelRates> Measure(const std::string& name);

 private:
  BenchEngine& engine_;
  std::vector<KernelCase> cases_;
  std::optional<InstructionLoop> bare_;  // The fastest; none if the CPU has none.
  std::optional<MemoryReads> reads_;
};

}  // namespace scorecast::bench
