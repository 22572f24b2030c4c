#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "bench/samples.h"
#include "bench/workload.h"

namespace scorecast::bench {

struct PassBenchOptions {
  std::filesystem::path model_dir;
  int threads = 1;
  int rounds = 5;
  std::vector<Workload> workloads;
};

/// One workload's figures. Everything is run in turns, round by round, so that the machine's drift
/// hits all alike and ratios of medians mean something.
struct PassFigures {
  Workload workload;
  std::int64_t rows = 0;         ///< Tokens of the one pass.
  std::int64_t one_by_one_rows;  ///< Tokens of all prompts, scored one by one.
  double raw_operations = 0;     ///< Of this rank's matrix products.
  Samples pass;                  ///< Seconds, as the next two.
  Samples raw_gemms;
  Samples one_by_one;
};

/// Collective over all ranks of the job; figures are rank 0's.
std::vector<PassFigures> RunPassBench(const PassBenchOptions& options);

}  // namespace scorecast::bench
