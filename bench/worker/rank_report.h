#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/bench_engine.h"
#include "bench/worker/memory_peak.h"

namespace scorecast::bench {

/// What a rank's passes have cost since the program began, and its memory, each figure with its
/// name: "phase.…" in seconds, "exchange.…" in bytes or, where it ends in "_s", seconds, "memory.…"
/// in bytes. Names and their order are the same on every rank and at all times.
using RankReport = std::vector<std::pair<std::string, double>>;

/// Collective, after a pass: rank 0 gets every rank's, in rank order; the others nothing.
/// "memory.peak" is since the last time, and 0 where `peak` is null.
std::vector<RankReport> GatherReports(BenchEngine& engine, MemoryPeak* peak);

}  // namespace scorecast::bench
