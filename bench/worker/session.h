#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/bench_engine.h"
#include "bench/roofline/memory_reads.h"
#include "bench/roofline/pass_products.h"
#include "bench/roofline/raw_gemms.h"
#include "bench/worker/rank_report.h"
#include "bench/workload.h"

namespace scorecast::bench {

/// What a worker answers to lines. W is a workload's name: "300+10x10" is a query of 300 tokens
/// with 10 items of 10.
///
///   W                  one pass
///   one-by-one W N     the first N of W's prompts, query and item, one after another
///   gemms L:D W        the bare matrix products of rank 0's pass by library L ("onednn" or
///                      "openblas") in dtype D, on the engine's threads
///   instructions D     what dtype D's instructions do on registers alone, on the engine's threads
///   reads              bytes a second that the engine's threads read from memory, and only read
///
/// Rank 0's; the other ranks are in FollowSession meanwhile.
class Session {
 public:
  Session(BenchEngine& engine, std::string dtype, MemoryPeak* peak);

  /// The first line, which says what this is. Collective.
  nlohmann::json Hello();
  /// With "err" where the line is none of the above, or cannot be done here.
  nlohmann::json Answer(const std::string& line);

 private:
  nlohmann::json Pass(const Workload& workload);
  nlohmann::json OneByOne(const Workload& workload, std::int64_t prompts);
  nlohmann::json Gemms(const std::string& library, const std::string& dtype,
                       const Workload& workload);
  nlohmann::json Instructions(const std::string& dtype);
  nlohmann::json Reads();
  const proto::ForwardPlan& PlanOf(const Workload& workload);
  /// Rank 0's.
  std::vector<Product> ProductsOf(const proto::ForwardPlan& plan);
  /// What has happened on each rank since the last call, and its memory now.
  nlohmann::json TakeReports();

  BenchEngine& engine_;
  const std::string dtype_;
  MemoryPeak* const peak_;
  std::map<std::string, proto::ForwardPlan> plans_;
  std::map<std::string, std::unique_ptr<RawGemms>> gemms_;
  std::optional<MemoryReads> reads_;
  std::vector<RankReport> reports_;  // Of the last time; [ranks].
};

/// The other ranks: what rank 0's session asks for, until its engine stops them.
void FollowSession(BenchEngine& engine, MemoryPeak* peak);

}  // namespace scorecast::bench
