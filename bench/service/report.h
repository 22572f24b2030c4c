#pragma once

#include <string>
#include <vector>

#include "bench/random_model.h"
#include "bench/service/idle_bench.h"
#include "bench/service/load_bench.h"
#include "bench/service/transport_bench.h"

namespace scorecast::bench {

/// The contents of the title above a service's tables.
struct ServiceTitle {
  std::string shape;
  int ranks = 0;
  int threads = 0;  ///< Of each rank; 0: its share of the CPUs.
  int max_batch_tokens = 0;
};

// These functions print to standard output: Markdown tables, or JSON with every sample.

void PrintIdleTables(const ServiceTitle& title, const IdleBenchOptions& options,
                     const IdleFigures& figures);
void PrintIdleJson(const ServiceTitle& title, const IdleBenchOptions& options,
                   const IdleFigures& figures);

/// `transports` are those of this build, and of the other one if there is one. Of `all`, the second
/// half then are modes of the other one, in the same order. With `options.with_page`, the first
/// half has an open page.
void PrintLoadTables(const ServiceTitle& title, const LoadOptions& options,
                     const std::vector<TransportFigures>& transports,
                     const std::vector<LoadFigures>& all);
void PrintLoadJson(const ServiceTitle& title, const LoadOptions& options,
                   const std::vector<TransportFigures>& transports,
                   const std::vector<LoadFigures>& all);

}  // namespace scorecast::bench
