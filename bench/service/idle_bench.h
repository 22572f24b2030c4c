#pragma once

#include <cstdint>
#include <vector>

#include "bench/samples.h"
#include "bench/service/service_process.h"
#include "bench/workload.h"

namespace scorecast::bench {

/// The limits to keep.
inline constexpr double kIdleCostLimit = 0.02;  ///< Of a core, each rank.
inline constexpr double kWakeUpLimitMs = 2;

struct IdleBenchOptions {
  double cost_seconds = 10;   ///< Over which the idle cost is taken.
  double wakeup_seconds = 5;  ///< Of idleness before a request.
  int wakeup_rounds = 8;
  int quick_requests = 20;  ///< A round, in quick succession.
  Workload workload{.query_tokens = 8, .items = 1, .item_tokens = 4};
  std::int64_t vocab_size = 0;
};

/// CPU time of a service's processes, as shares of one core.
struct CpuShares {
  double seconds = 0;  ///< Over which it was taken.
  std::vector<double> ranks;
  double mpirun = 0;

  /// The smallest share that can be told from none.
  double Resolution() const;
};

/// A request, as its client and the server timed it.
struct RequestTime {
  double client_ms = 0;
  double queue_ms = 0;     ///< Until the pass began.
  double forward_ms = 0;   ///< The pass.
  double cpu_wait_ms = 0;  ///< A rank's for a CPU that ran something else: the mean of the ranks'.
};

struct WakeUpRound {
  RequestTime first;  ///< After the idle time.
  std::vector<RequestTime> quick;
};

struct WakeUp {
  std::vector<WakeUpRound> rounds;

  Samples First() const;
  Samples Quick() const;
  /// How much longer each round's first request took than the median of its others.
  Samples Difference() const;
  /// Of that, how much is the pass.
  Samples ForwardDifference() const;
  /// And how much waiting for a CPU.
  Samples CpuWaitDifference() const;
};

struct IdleFigures {
  CpuShares idle;
  CpuShares busy;  ///< The same under requests in quick succession: what shows that it is counted.
  WakeUp wake_up;
};

/// What a service costs that does nothing, and how fast it is again: one client, one request at a
/// time.
IdleFigures RunIdleBench(const ServiceProcess& service, const IdleBenchOptions& options);

}  // namespace scorecast::bench
