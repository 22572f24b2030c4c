#include "launcher/plan_limits.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include <unistd.h>

#include "proto/base/error.h"
#include "shard/attention/kv_store.h"
#include "shard/transformer/memory_estimate.h"

namespace scorecast::launcher {
namespace {

using proto::kKvGranule;

std::string Gib(std::int64_t bytes) {
  std::ostringstream text;
  text.precision(3);
  text << static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << 30) << " GiB";
  return text.str();
}

/// K/V places of a sequence of `rows` in up to `segments` segments, each rounded up to granules.
std::int64_t KvRowsOf(std::int64_t rows, std::int64_t segments) {
  return rows + (kKvGranule - 1) * segments + kKvGranule;
}

std::int32_t Narrow(std::int64_t n) {
  if (n > std::numeric_limits<std::int32_t>::max()) {
    throw proto::StartupError("the limits ask for " + std::to_string(n) +
                              " rows of K/V: lower --max-batch-tokens, --max-items or "
                              "--max-multi-item-seq-len");
  }
  return static_cast<std::int32_t>(n);
}

}  // namespace

proto::PlanLimits MakePlanLimits(const EngineFlags& flags, const proto::ModelConfig& config,
                                 shard::Precision precision, int ranks, int ranks_here,
                                 std::int64_t host_bytes) {
  const bool multi_item = !flags.delimiter.empty();
  // The query's prefix beside the items.
  const std::int64_t segments = multi_item ? flags.score.max_items + 1 : 1;
  const std::int64_t longest =
      multi_item ? flags.score.max_multi_item_seq_len : config.max_position_embeddings;

  proto::PlanLimits limits;
  limits.max_rows = Narrow(flags.max_batch_tokens);
  // Empty items are read at one row: there can be more reads than rows.
  limits.max_reads = Narrow(flags.max_batch_tokens + flags.score.max_items + 1);
  limits.pass_kv_rows = Narrow(KvRowsOf(2 * flags.max_batch_tokens, segments));

  // Rank 0 holds the most of everything.
  const proto::Partition partition = proto::MakePartition(config, 0, ranks);
  const auto needed = [&] {
    return ranks_here * shard::EstimateMemory(config, partition, limits, precision).total();
  };
  if (longest > flags.max_batch_tokens) {
    std::int64_t kept = KvRowsOf(longest, segments);
    if (!multi_item) {
      const std::int64_t row_bytes =
          ranks_here *
          shard::KvStore::Bytes(shard::KvElementSize(precision), config.num_hidden_layers,
                                partition.kv_heads.size(), config.head_dim, kKvGranule, 0) /
          kKvGranule;
      const std::int64_t room = std::max<std::int64_t>(host_bytes - needed(), 0) / 2 / row_bytes;
      kept = std::min(kept, room / kKvGranule * kKvGranule);
    }
    limits.kept_kv_rows = Narrow(kept);
  }
  if (needed() > host_bytes) {
    const shard::MemoryEstimate estimate =
        shard::EstimateMemory(config, partition, limits, precision);
    throw proto::StartupError(
        "a rank needs " + Gib(estimate.total()) + " (weights " + Gib(estimate.weights) +
        ", activations " + Gib(estimate.activations) + ", K/V " + Gib(estimate.kv) + "), times " +
        std::to_string(ranks_here) + " on this host, which has " + Gib(host_bytes) +
        ": lower --max-batch-tokens or --max-multi-item-seq-len, or use more hosts");
  }
  return limits;
}

std::int64_t HostMemory() {
  const std::int64_t physical = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  std::int64_t group_limit = physical;
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    std::int64_t bytes = 0;
    if (file >> bytes && bytes > 0) {  // "max" is no number.
      group_limit = std::min(group_limit, bytes);
    }
  }
  return group_limit;
}

}  // namespace scorecast::launcher
