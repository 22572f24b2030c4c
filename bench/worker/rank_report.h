#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/bench_engine.h"
#include "bench/worker/process_usage.h"

namespace scorecast::bench {

/// Cost of a rank's passes since the program began, and its memory. Each figure has a name:
/// "phase.…" in seconds; "exchange.…" in seconds if it ends in "_s", else in bytes or calls;
/// "cpu.…" in CPU seconds; "memory.…" in bytes. Names and their order are the same on all ranks and
/// never change.
using RankReport = std::vector<std::pair<std::string, double>>;

/// Collective, after a pass. Rank 0 gets the reports of all ranks, in rank order; the others get
/// none. "memory.peak" is the peak since the last call, and 0 if `peak` is null.
std::vector<RankReport> GatherReports(BenchEngine& engine, MemoryPeak* peak);

}  // namespace scorecast::bench
