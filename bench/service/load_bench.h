#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
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
  double seconds = 20;  ///< Duration of arrivals at each rate.
  /// Number of requests, one at a time, by which the capacity is measured.
  int service_rounds = 5;
  int transport_rounds = 30;  ///< Requests on the socket, and as many over HTTP.
  double first_rate = 0.3;    ///< As a share of the capacity.
  double growth = 1.3;        ///< Factor from each rate to the next.
  int max_rates = 12;
  double limit_ms = 500;           ///< Limit of p99.
  std::int64_t timeout_ms = 5000;  ///< A request's deadline.
  std::uint64_t seed = 1;
  std::filesystem::path against;  ///< Directory of another build; empty: there is none.
  bool with_page = false;         ///< Whether to compare with a service whose page is open.
};

/// A service to load, and its name in the report.
struct LoadedService {
  std::string mode;
  const ServiceProcess& service;
  /// The place of the service whose capacity sets the rates, so that both have the same; otherwise
  /// its own does.
  std::optional<std::size_t> rates_of{};
  bool has_page = false;  ///< Its page is open while it is loaded. See OpenPage.
};

/// The requests of one rate.
struct LoadStep {
  double rate = 0;  ///< Mean of the Poisson process, in requests per second.
  std::vector<Outcome> outcomes;
  CpuDemand demand;  ///< Of the ranks.

  /// Milliseconds within which a share of all requests got a score. A request without a score
  /// counts as infinitely late, so there is no value if too few got one.
  std::optional<double> LatencyMs(double share) const;
  std::int64_t Count(int code) const;
  /// Scored requests per second, from the first arrival to the last reply with a score.
  double Throughput() const;
  bool KeepsLimit(double limit_ms) const;
};

struct LoadFigures {
  std::string mode;
  Samples service_ms;      ///< Times of a request alone.
  CpuDemand alone_demand;  ///< Of the ranks during these requests.
  std::vector<LoadStep> steps;

  double Capacity() const { return 1000 / service_ms.Mean(); }  ///< Requests per second.
  /// The step with the highest rate that kept the limit; nullptr if none did.
  const LoadStep* Best(double limit_ms) const;
};

/// Loads services with the same requests at rising rates, in turns: the first rate of each, then
/// the second of each, and so on. A service is done when two rates in succession break the limit,
/// so that a single disturbance by the machine does not end its measurement.
std::vector<LoadFigures> RunLoadBench(const std::vector<LoadedService>& services,
                                      const LoadOptions& options);

}  // namespace scorecast::bench
