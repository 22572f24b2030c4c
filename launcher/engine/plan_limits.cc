#include "launcher/engine/plan_limits.h"

#include <algorithm>
#include <limits>

#include "proto/base/error.h"
#include "proto/model/partition.h"
#include "shard/attention/kv_store.h"
#include "shard/model/memory_estimate.h"

namespace scorecast::launcher {
namespace {

using proto::kKvGranule;
using proto::kKvPageRows;

/// Upper bound on the MiB of the cache if --kv-cache-mb is not given.
constexpr std::int64_t kDefaultKvCacheMb = 1024;

/// The reserve for short texts is this part of the longest text. If that has 8,192 tokens, texts of
/// up to 512 are short: see PageQueue.
constexpr std::int64_t kTextReservePart = 4;
/// Rows that the reserve has at least, unless the longest text has fewer.
constexpr std::int64_t kLeastTextReserve = 512;

/// Rows of K/V for a sequence of `rows` in up to `segments` segments, each rounded up to granules.
std::int64_t KvRowsOf(std::int64_t rows, std::int64_t segments) {
  return rows + (kKvGranule - 1) * segments + kKvGranule;
}

/// Number of rows, in whole pages, that a sequence of `rows` rows needs at most. Two of its
/// segments are kept at a time: its prefix, and an item longer than a pass, or a completion.
std::int64_t KeptRowsOf(std::int64_t rows) {
  return (rows + 2 * kKvPageRows) / kKvPageRows * kKvPageRows;
}

/// `rows` rounded up to whole pages.
std::int64_t PageRowsOf(std::int64_t rows) {
  return (rows + kKvPageRows - 1) / kKvPageRows * kKvPageRows;
}

/// Rows, in whole pages, of the buffers for texts that short texts have beside a longest one.
std::int64_t ReserveBeside(std::int64_t longest_text) {
  return PageRowsOf(
      std::min(std::max(longest_text / kTextReservePart, kLeastTextReserve), longest_text));
}

std::int32_t Narrow(std::int64_t n) {
  if (n > std::numeric_limits<std::int32_t>::max()) {
    throw proto::StartupError("the limits need " + std::to_string(n) +
                              " rows of K/V: lower --max-batch-tokens, --max-items, "
                              "--max-multi-item-seq-len or --kv-cache-mb");
  }
  return static_cast<std::int32_t>(n);
}

/// Bytes that each rank of a host needs for the largest plan: its label lists; the partial logits
/// of all ranks; and the rows into which rank 0 merges them.
std::int64_t LogitBuffers(const proto::PlanLimits& plan, int ranks) {
  return (ranks + 2) * plan.max_logit_bytes;
}

/// A part of the model that is at least as large in every dimension as each rank's. Rank 0 has the
/// most of all dimensions but one: another rank may have more K/V heads.
proto::Partition LargestPart(const proto::ModelConfig& config, int ranks,
                             proto::Sharding sharding) {
  proto::Partition largest = proto::MakePartition(config, 0, ranks, sharding);
  for (int rank = 1; rank < ranks; ++rank) {
    const proto::Range heads = proto::MakePartition(config, rank, ranks, sharding).kv_heads;
    if (heads.size() > largest.kv_heads.size()) {
      largest.kv_heads = heads;
    }
  }
  return largest;
}

}  // namespace

EngineLimits MakeEngineLimits(const EngineFlags& flags, const proto::ModelConfig& config,
                              const shard::HeldWeights& weights, int ranks,
                              const MemoryShare& memory) {
  // In multi-item mode, a pass with many short items and the query's prefix runs out of rows before
  // it runs out of K/V. In the other modes, segments that do not fit are left to later passes.
  const std::int64_t segments =
      flags.server.one_by_one ? 1 : std::min(flags.server.max_items, flags.max_batch_tokens) + 1;

  EngineLimits limits;
  proto::PlanLimits& plan = limits.plan;
  plan.max_rows = Narrow(flags.max_batch_tokens);
  // Several empty items are read at the same row, so there can be more reads than rows.
  plan.max_reads = Narrow(flags.max_batch_tokens + flags.server.max_items + 1);
  plan.pass_kv_rows = Narrow(KvRowsOf(2 * flags.max_batch_tokens, segments));

  proto::SetModelLimits(config, ranks, plan, flags.sharding());
  // A row that is read for scores may also be read for a completion.
  const std::int64_t one_row = 2 * proto::LargestReadBytes(plan);
  plan.max_logit_bytes =
      std::max(one_row, std::min(plan.max_logit_bytes, plan.max_reads * one_row));
  if (plan.max_logit_bytes > std::numeric_limits<int>::max()) {
    throw proto::StartupError("the vocabulary is too large: the logits of one token take up to " +
                              std::to_string(one_row) + " bytes");
  }

  const proto::Partition partition = LargestPart(config, ranks, flags.sharding());
  const auto needed = [&] {
    return memory.ranks * shard::EstimateMemory(config, partition, plan, weights).total() +
           LogitBuffers(plan, memory.ranks);
  };
  limits.page_bytes = shard::KvStore::Bytes(shard::KvElementSize(weights.precisions.layers),
                                            config.num_hidden_layers(), partition.kv_heads.size(),
                                            config.head_dim, kKvPageRows, 0);
  const std::int64_t room = std::max<std::int64_t>(memory.bytes - needed(), 0) / memory.ranks;
  const std::int64_t wanted_mb = std::min(kDefaultKvCacheMb, (room / 4) >> 20);
  const std::int64_t cached_pages =
      (flags.kv_cache_mb.value_or(wanted_mb) << 20) / limits.page_bytes;
  // Each chunk and each completion takes at least a page of its own, even a short one.
  const std::int64_t longest =
      KeptRowsOf(config.max_position_embeddings) + flags.server.max_items * kKvPageRows;
  const std::int64_t for_positions = std::min(longest, room / 2 / limits.page_bytes * kKvPageRows);
  std::int64_t kept = std::max(cached_pages * kKvPageRows, for_positions);
  if (flags.has_sglang_rules() && flags.server.max_multi_item_seq_len > flags.max_batch_tokens) {
    kept = std::max(kept, KeptRowsOf(flags.server.max_multi_item_seq_len));
  }
  // Keys and values of a bidirectional text depend on all of its rows, so no text has a use for
  // those of an earlier one. They only wait between the steps of a long text.
  plan.kept_kv_rows = config.bidirectional ? 0 : Narrow(kept);
  limits.cached_pages = config.bidirectional ? 0 : Narrow(cached_pages);
  if (config.bidirectional) {
    plan.text_rows = kKvPageRows;
    const std::int64_t of_a_page = needed();
    plan.text_rows += kKvPageRows;
    const std::int64_t page_bytes = (needed() - of_a_page) / memory.ranks;
    plan.longest_text =
        Narrow(std::min(config.max_position_embeddings, room / 2 / page_bytes * kKvPageRows));
    const std::int64_t rows = PageRowsOf(plan.longest_text);
    plan.text_rows = Narrow(rows);
    const std::int64_t left = std::max<std::int64_t>(memory.bytes - needed(), 0) / memory.ranks;
    plan.text_rows = Narrow(
        rows + std::min(ReserveBeside(plan.longest_text), left / 2 / page_bytes * kKvPageRows));
  }
  if (needed() > memory.bytes) {
    const shard::MemoryEstimate estimate = shard::EstimateMemory(config, partition, plan, weights);
    throw proto::StartupError(
        "a rank needs " + Gib(estimate.total()) + " (weights " + Gib(estimate.weights) +
        ", activations " + Gib(estimate.activations) + ", K/V " + Gib(estimate.kv) + "), times " +
        std::to_string(memory.ranks) + ", and " + Gib(LogitBuffers(plan, memory.ranks)) +
        " for logits" +
        (memory.group.empty() ? " on this host" : " in control group " + memory.group) +
        ", which has " + Gib(memory.bytes) +
        ": lower --max-batch-tokens, --max-multi-item-seq-len or --kv-cache-mb, or use more hosts");
  }
  return limits;
}

}  // namespace scorecast::launcher
