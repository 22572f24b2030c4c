#pragma once

#include <cstdint>
#include <vector>

#include "bench/samples.h"
#include "bench/service/service_process.h"
#include "bench/workload.h"

namespace scorecast::bench {

/// Limits that the service should keep.
inline constexpr double kIdleCostLimit = 0.02;  ///< Share of a core that an idle rank uses.
inline constexpr double kWakeUpLimitMs = 2;

struct IdleBenchOptions {
  double cost_seconds = 10;   ///< Duration of the measurement of the idle cost.
  double wakeup_seconds = 5;  ///< Idle time before the first request of a round.
  int wakeup_rounds = 8;
  int quick_requests = 20;  ///< Requests of a round in quick succession.
  Workload workload{.query_tokens = 8, .items = 1, .item_tokens = 4};
  std::int64_t vocab_size = 0;
};

/// CPU time of a service's processes, as shares of one core.
struct CpuShares {
  double seconds = 0;  ///< Duration of the measurement.
  std::vector<double> ranks;
  double mpirun = 0;

  /// The smallest share that can be distinguished from 0.
  double Resolution() const;
};

/// Times of a request, measured by its client and by the server.
struct RequestTime {
  double client_ms = 0;
  double queue_ms = 0;     ///< Before the pass.
  double forward_ms = 0;   ///< In the pass.
  double cpu_wait_ms = 0;  ///< Time a rank waited for a CPU; mean over ranks.
};

struct WakeUpRound {
  RequestTime first;  ///< After the idle time.
  std::vector<RequestTime> quick;
};

struct WakeUp {
  std::vector<WakeUpRound> rounds;

  Samples First() const;
  Samples Quick() const;
  /// Time of each round's first request minus the median of its others.
  Samples Difference() const;
  /// The same difference for the time in the pass.
  Samples ForwardDifference() const;
  /// The same difference for the time in which ranks waited for a CPU.
  Samples CpuWaitDifference() const;
};

struct IdleFigures {
  CpuShares idle;
  CpuShares busy;  ///< Under requests in quick succession; shows that the method counts CPU time.
  WakeUp wake_up;
};

/// Measures the CPU time of an idle service and its first request after an idle time, with one
/// client that sends one request at a time.
IdleFigures RunIdleBench(const ServiceProcess& service, const IdleBenchOptions& options);

}  // namespace scorecast::bench
