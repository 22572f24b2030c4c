#pragma once

#include <string_view>

#include "launcher/cost/cost_rates.h"
#include "launcher/cost/layout.h"
#include "launcher/cost/pass_share.h"
#include "proto/model/model_config.h"
#include "shard/model/memory_estimate.h"

namespace scorecast::launcher {

/// The hosts and what connects them.
struct Hosts {
  double bandwidth = 0;  ///< Bytes per second in each direction of a host's card, with headers.
  double latency = 0;    ///< Seconds of a message beyond those of the calibration.
  double memory_bandwidth = 0;  ///< Bytes per second that all cores of a host read; 0: no limit.
};

// Rates that no calibration has measured.
inline constexpr double kAssumedExchange = 5e-6;  ///< Seconds.
inline constexpr double kAssumedMessage = 20e-6;

/// Seconds of one pass, by what takes them, on the rank that has the largest share.
struct PassCost {
  double weights = 0;     ///< Reading weights from memory.
  double operations = 0;  ///< The other time of products.
  double attention = 0;
  double other = 0;
  double on_host = 0;      ///< Exchanges with ranks of the same host, and sums for other hosts.
  double bandwidth = 0;    ///< Sending bytes to other hosts.
  double latency = 0;      ///< Messages to other hosts.
  double overlapped = 0;   ///< The part of the last two in which the ranks compute.
  double host_bytes = 0;   ///< Bytes that a host sends, without headers.
  double cpu_seconds = 0;  ///< CPU time of all ranks' threads together, without waiting.

  double computation() const { return weights + operations + attention + other; }
  /// What ranks wait for.
  double communication() const { return on_host + bandwidth + latency - overlapped; }
  double seconds() const { return computation() + communication(); }
  /// What takes the most of the time, for example "network bandwidth".
  std::string_view Limit() const;
};

/// The cost of a pass of `work`, if every host has `replicas` such layouts at the same time.
PassCost CostOf(const proto::ModelConfig& config, const shard::HeldWeights& weights,
                const CostRates& rates, const Hosts& hosts, const Layout& layout, int replicas,
                const coordinator::PassWork& work);

}  // namespace scorecast::launcher
