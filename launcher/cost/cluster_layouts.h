#pragma once

#include <cstdint>
#include <vector>

#include "coordinator/schedule/pass/pass_work.h"
#include "launcher/cost/cost_rates.h"
#include "launcher/cost/layout.h"
#include "launcher/cost/pass_cost.h"
#include "launcher/engine/engine_flags.h"
#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"
#include "shard/model/memory_estimate.h"

namespace scorecast::launcher {

/// A request with items of equal length behind a query.
struct ItemRequest {
  std::int64_t query_tokens = 0;
  std::int64_t items = 1;
  std::int64_t item_tokens = 1;

  std::int64_t rows() const { return query_tokens + items * item_tokens; }
};

/// What it takes to compute the request: each item's last row is read.
coordinator::PassWork WorkOf(const ItemRequest& request, const proto::KeyReach& reach);

/// A model on a cluster of equal hosts, and what is asked of it.
struct Cluster {
  proto::ModelConfig config;
  shard::HeldWeights weights;
  CostRates rates;
  Hosts hosts;
  int cores = 1;                 ///< Of each host.
  std::int64_t host_memory = 0;  ///< Bytes.
  EngineFlags flags;             ///< For the limits of a rank's buffers.
  ItemRequest request;

  /// Passes of equal size that the request takes, because one has at most --max-batch-tokens rows.
  std::int64_t passes() const;
};

/// A layout of one replica, and how many of them a host has if it needs only one host.
struct LayoutCost {
  Layout layout;
  int replicas_a_host = 1;
  PassCost pass;
  double seconds = 0;       ///< Of the request, if no other one is under way.
  std::int64_t memory = 0;  ///< Bytes of all ranks of a host: weights, buffers and K/V.

  /// Replicas on `hosts` hosts, which are at least those of one.
  int ReplicasOn(int hosts) const { return hosts / layout.hosts * replicas_a_host; }
};

/// All layouts of one replica on up to `hosts` hosts that fit the hosts' cores and memory. A host
/// has 1, 2, 4, … ranks of a replica, so that each row crosses the network once. All cores are
/// used, but for a remainder.
std::vector<LayoutCost> LayoutsUpTo(const Cluster& cluster, int hosts);

/// The layout by which `hosts` hosts compute the most requests per second. Of those that reach 98 %
/// of that, the one whose request takes the least time. Null if none fits.
const LayoutCost* MostRequests(const std::vector<LayoutCost>& layouts, int hosts);
/// The layout whose request takes the least time. Null if none fits.
const LayoutCost* ShortestRequest(const std::vector<LayoutCost>& layouts, int hosts);

}  // namespace scorecast::launcher
