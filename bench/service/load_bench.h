#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/samples.h"
#include "bench/service/cpu_time.h"
#include "bench/service/open_loop.h"
#include "bench/service/service_process.h"
#include "bench/workload.h"

namespace scorecast::bench {

struct LoadOptions {
  Workload workload{.query_tokens = 300, .items = 10, .item_tokens = 20};
  std::int64_t vocab_size = 0;
  double seconds = 20;      ///< Of arrivals at each rate.
  int service_rounds = 5;   ///< Requests, one at a time, that the capacity is taken from.
  double first_rate = 0.3;  ///< Of the capacity.
  double growth = 1.3;      ///< From rate to rate.
  int max_rates = 12;
  double limit_ms = 500;           ///< For p99.
  std::int64_t timeout_ms = 5000;  ///< A request's deadline.
  std::uint64_t seed = 1;
};

/// A service to load, and what to call it.
struct LoadedService {
  std::string mode;
  const ServiceProcess& service;
};

/// One rate's requests.
struct LoadStep {
  double rate = 0;  ///< Requests a second, as drawn.
  std::vector<Outcome> outcomes;
  CpuDemand demand;  ///< The ranks'.

  /// Milliseconds that a share of all requests was answered within; none where fewer were answered
  /// with 200: a request that got no score waits for ever.
  std::optional<double> LatencyMs(double share) const;
  std::int64_t Count(int code) const;
  /// Requests answered with 200 in a second, from the first arrival to the last answer.
  double Throughput() const;
  bool KeepsLimit(double limit_ms) const;
};

struct LoadFigures {
  std::string mode;
  Samples service_ms;      ///< A request's time with nothing beside it.
  CpuDemand alone_demand;  ///< The ranks' in those.
  std::vector<LoadStep> steps;

  double Capacity() const { return 1000 / service_ms.Mean(); }  ///< Requests a second.
  /// The step of the highest rate that kept the limit; nullptr where none did.
  const LoadStep* Best(double limit_ms) const;
};

/// Loads services with the same requests at rising rates, in turns: the first rate of each, the
/// second of each, … A service is done with when two rates in succession break the limit, so that
/// one bad moment of the machine does not end it.
std::vector<LoadFigures> RunLoadBench(const std::vector<LoadedService>& services,
                                      const LoadOptions& options);

}  // namespace scorecast::bench
