#include "shard/transformer/memory_estimate.h"

#include <algorithm>

#include "shard/attention/kv_store.h"
#include "shard/transformer/lm_head.h"
#include "shard/transformer/rope_table.h"
#include "shard/transformer/workspace.h"

namespace scorecast::shard {
namespace {

constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

/// One layer's parameters when it has these heads and this width.
std::int64_t LayerParameters(const proto::ModelConfig& config, std::int64_t heads,
                             std::int64_t kv_heads, std::int64_t intermediate) {
  const std::int64_t q = heads * config.head_dim;
  const std::int64_t kv = kv_heads * config.head_dim;
  const std::int64_t h = config.hidden_size;
  std::int64_t n = (q + 2 * kv) * h + h * q + 3 * h * intermediate + 2 * h;
  n += config.attention_bias ? q + 2 * kv : 0;
  n += config.attention_output_bias ? h : 0;
  n += config.mlp_bias ? 2 * intermediate + h : 0;
  n += config.qk_norm ? 2 * config.head_dim : 0;
  return n;
}

/// Buffers that one pass of a plan of these limits uses beside its K/V.
std::int64_t ActivationBytes(const proto::ModelConfig& config, const proto::Partition& partition,
                             const proto::PlanLimits& limits, Precision precision) {
  const bool is_alone = partition.heads.size() == config.num_attention_heads;
  const std::int64_t h = config.hidden_size;
  return Workspace::Bytes(config, partition, limits, precision) +
         kFloat * std::min<std::int64_t>(limits.max_reads, LmHead::kRowsAtOnce) *
             (h + partition.vocabulary.size()) +
         RopeTable::Bytes(config.head_dim, limits.max_rows) +
         // Summands and rows that the ranks share; other ranks' summands.
         kFloat * limits.max_rows * h * (is_alone ? 2 : 3);
}

/// K/V of plans of these limits.
std::int64_t KvBytes(const proto::ModelConfig& config, const proto::Partition& partition,
                     const proto::PlanLimits& limits, Precision precision) {
  return KvStore::Bytes(KvElementSize(precision), config.num_hidden_layers,
                        partition.kv_heads.size(), config.head_dim, limits.kept_kv_rows,
                        limits.pass_kv_rows);
}

}  // namespace

MemoryEstimate EstimateMemory(const proto::ModelConfig& config, const proto::Partition& partition,
                              const proto::PlanLimits& limits, Precision precision) {
  const std::int64_t h = config.hidden_size;
  MemoryEstimate estimate;
  estimate.weights = ElementSize(precision) * config.num_hidden_layers *
                         LayerParameters(config, partition.heads.size(), partition.kv_heads.size(),
                                         partition.intermediate.size()) +
                     ElementSize(precision == Precision::kInt8 ? Precision::kFloat32 : precision) *
                         partition.vocabulary.size() * h;
  estimate.activations = ActivationBytes(config, partition, limits, precision);
  estimate.kv = KvBytes(config, partition, limits, precision);
  const proto::PlanLimits touched = proto::LimitsOfBucket(limits, proto::kTouchedBucket);
  estimate.touched = ActivationBytes(config, partition, touched, precision) +
                     KvBytes(config, partition, touched, precision);
  return estimate;
}

std::int64_t CountParameters(const proto::ModelConfig& config) {
  const std::int64_t matrices = config.tie_word_embeddings ? 1 : 2;
  return matrices * config.vocab_size * config.hidden_size + config.hidden_size +
         config.num_hidden_layers * LayerParameters(config, config.num_attention_heads,
                                                    config.num_key_value_heads,
                                                    config.intermediate_size);
}

}  // namespace scorecast::shard
