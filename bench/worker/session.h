#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/bench_engine.h"
#include "bench/kernels/kernel_bench.h"
#include "bench/roofline/memory_reads.h"
#include "bench/roofline/pass_products.h"
#include "bench/roofline/raw_gemms.h"
#include "bench/worker/rank_report.h"
#include "bench/workload.h"

namespace scorecast::bench {

/// The commands of a worker, one per line. W is a workload's name: "300+10x10" is a query of 300
/// tokens with 10 items of 10, and "texts:40,52" are two texts for a model that pools them.
///
///   W                  one pass
///   one-by-one W N     the first N prompts of W (query and item), one after another
///   gemms L:D W        the bare matrix products of rank 0's pass by library L ("onednn" or
///                      "openblas") in dtype D, on the engine's threads
///   instructions D     rates of dtype D's instructions on registers only, on the engine's threads
///   reads              bytes per second that the engine's threads can read from memory
///   kernels            names of the kernels that the next command measures
///   kernel K           rates of the kernel of this name (KernelRates); needs one rank of one
///   thread
///
/// For rank 0. The other ranks run FollowSession at the same time.
class Session {
 public:
  Session(BenchEngine& engine, std::string dtype, MemoryPeak* peak);

  /// The first line, which describes the engine. Collective.
  nlohmann::json Hello();
  /// Runs a command. The reply has "err" if the line is not a command or cannot be run here.
  nlohmann::json Reply(const std::string& line);

 private:
  nlohmann::json Pass(const Workload& workload);
  nlohmann::json OneByOne(const Workload& workload, std::int64_t prompts);
  nlohmann::json Gemms(const std::string& library, const std::string& dtype,
                       const Workload& workload);
  nlohmann::json Instructions(const std::string& dtype);
  nlohmann::json Reads();
  nlohmann::json KernelNames();
  nlohmann::json Kernel(const std::string& name);
  /// Nothing if the model cannot compute it, or if it does not fit a pass.
  std::optional<Workload> Parse(const std::string& name) const;
  const proto::ForwardPlan& PlanOf(const Workload& workload);
  /// The products of rank 0.
  std::vector<Product> ProductsOf(const proto::ForwardPlan& plan);
  /// Each rank's costs since the last call, and its memory now.
  nlohmann::json TakeReports();

  BenchEngine& engine_;
  const std::string dtype_;
  MemoryPeak* const peak_;
  std::map<std::string, proto::ForwardPlan> plans_;
  std::map<std::string, std::unique_ptr<RawGemms>> gemms_;
  std::optional<MemoryReads> reads_;
  std::optional<KernelBench> kernels_;
  std::vector<RankReport> reports_;  // [ranks]: of the last call of TakeReports.
};

/// For the other ranks: follows rank 0's session until rank 0 stops the followers.
void FollowSession(BenchEngine& engine, MemoryPeak* peak);

}  // namespace scorecast::bench
