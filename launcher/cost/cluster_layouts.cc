#include "launcher/cost/cluster_layouts.h"

#include <algorithm>
#include <optional>

#include "coordinator/schedule/pass/sequence_work.h"
#include "launcher/engine/plan_limits.h"
#include "proto/base/error.h"
#include "proto/model/partition.h"

namespace scorecast::launcher {
namespace {

/// A layout reaches the most requests per second if it has this part of them.
constexpr double kNearlyMost = 0.98;

/// Bytes of all ranks of a host that has `ranks_on_host` ranks of groups of `ranks`; nullopt if
/// they do not fit.
std::optional<std::int64_t> MemoryOf(const Cluster& cluster, int ranks, int ranks_on_host) {
  try {
    const EngineLimits limits =
        MakeEngineLimits(cluster.flags, cluster.config, cluster.weights, ranks,
                         {.bytes = cluster.host_memory, .ranks = ranks_on_host});
    // No rank holds more than rank 0 does.
    const proto::Partition partition = proto::MakePartition(cluster.config, 0, ranks);
    return ranks_on_host *
           shard::EstimateMemory(cluster.config, partition, limits.plan, cluster.weights).total();
  } catch (const proto::StartupError&) {
    return std::nullopt;
  }
}

double RequestsPerSecond(const LayoutCost& cost, int hosts) {
  return cost.ReplicasOn(hosts) / cost.seconds;
}

}  // namespace

coordinator::PassWork WorkOf(const ItemRequest& request, const proto::KeyReach& reach) {
  using coordinator::KeyCount;
  KeyCount count;
  const std::int64_t q = request.query_tokens;
  const std::int64_t before_query = count.Next(proto::SegmentKind::kPrefix, false, q);
  coordinator::PassWork work{.rows = request.rows(),
                             .keys = KeyCount::Keys(before_query, 0, q, reach),
                             .reads = request.items};
  const std::int64_t before_item =
      count.Next(proto::SegmentKind::kBlock, false, request.item_tokens);
  work.keys += request.items * KeyCount::Keys(before_item, 0, request.item_tokens, reach);
  return work;
}

std::int64_t Cluster::passes() const {
  return (request.rows() + flags.max_batch_tokens - 1) / flags.max_batch_tokens;
}

std::vector<LayoutCost> LayoutsUpTo(const Cluster& cluster, int hosts) {
  proto::PlanLimits limits;
  proto::SetModelLimits(cluster.config, /*ranks=*/1, limits);
  coordinator::PassWork work = WorkOf(cluster.request, limits.reach);
  const std::int64_t passes = cluster.passes();
  work = {.rows = (work.rows + passes - 1) / passes,
          .keys = (work.keys + passes - 1) / passes,
          .reads = (work.reads + passes - 1) / passes};
  std::vector<LayoutCost> layouts;
  for (int of_replica = 1; of_replica <= hosts; ++of_replica) {
    for (int ranks = 1;
         ranks <= cluster.cores && of_replica * ranks <= cluster.config.num_attention_heads;
         ranks *= 2) {
      const int most_replicas = of_replica == 1 ? cluster.cores / ranks : 1;
      for (int replicas = 1; replicas <= most_replicas; replicas *= 2) {
        const auto memory = MemoryOf(cluster, of_replica * ranks, ranks * replicas);
        if (!memory) {
          continue;
        }
        LayoutCost cost{.layout = {.hosts = of_replica,
                                   .ranks_a_host = ranks,
                                   .threads = cluster.cores / (ranks * replicas)},
                        .replicas_a_host = replicas,
                        .memory = *memory};
        cost.pass = CostOf(cluster.config, cluster.weights, cluster.rates, cluster.hosts,
                           cost.layout, replicas, work);
        cost.seconds = static_cast<double>(passes) * cost.pass.seconds();
        layouts.push_back(cost);
      }
    }
  }
  return layouts;
}

const LayoutCost* ShortestRequest(const std::vector<LayoutCost>& layouts, int hosts) {
  const LayoutCost* best = nullptr;
  for (const LayoutCost& cost : layouts) {
    if (cost.layout.hosts <= hosts && (best == nullptr || cost.seconds < best->seconds)) {
      best = &cost;
    }
  }
  return best;
}

const LayoutCost* MostRequests(const std::vector<LayoutCost>& layouts, int hosts) {
  double most = 0;
  for (const LayoutCost& cost : layouts) {
    most = std::max(most, cost.layout.hosts <= hosts ? RequestsPerSecond(cost, hosts) : 0);
  }
  const LayoutCost* best = nullptr;
  for (const LayoutCost& cost : layouts) {
    if (cost.layout.hosts <= hosts && RequestsPerSecond(cost, hosts) >= kNearlyMost * most &&
        (best == nullptr || cost.seconds < best->seconds)) {
      best = &cost;
    }
  }
  return best;
}

}  // namespace scorecast::launcher
