#include "shard/model/memory_estimate.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shard/attention/kv_store.h"
#include "shard/linear/linear.h"
#include "shard/model/layer.h"
#include "shard/model/rope_table.h"
#include "shard/model/tensors.h"
#include "shard/model/workspace.h"
#include "shard/readout/lm_head.h"

namespace scorecast::shard {
namespace {

using proto::ModelConfig;

constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

/// The blocks into which a rank's part of a dimension is cut, if it is that of a product's inputs.
std::int64_t BlocksOf(Dim dim, const proto::Partition& partition) {
  return dim == Dim::kQueryHeads     ? partition.head_blocks.size()
         : dim == Dim::kIntermediate ? partition.intermediate_blocks.size()
                                     : 1;
}

/// Bytes of the part of a tensor that a rank holds.
std::int64_t StoredBytes(const TensorSpec& tensor, const ModelConfig& config,
                         const proto::Partition& partition, const HeldWeights& weights) {
  const std::int64_t out = PartOf(tensor.out, config, partition).size();
  const std::int64_t in = PartOf(tensor.in, config, partition).size();
  switch (tensor.storage) {
    case Storage::kLayerProduct:
      return PackedBytes(weights.precisions.layers, weights.layer_size, out, in,
                         BlocksOf(tensor.in, partition));
    case Storage::kLmHead:
      return PackedBytes(weights.precisions.lm_head, weights.lm_head_size, out, in);
    case Storage::kVector:
    case Storage::kMatrix:
      return kFloat * out * in;
    case Storage::kInFile:
    case Storage::kUnused:
      break;
  }
  return 0;
}

/// Upper bound on the summands that a rank like this one has of a row.
std::int64_t MostNodes(const ModelConfig& config, const proto::Partition& partition) {
  if (partition.sharding == proto::Sharding::kEven) {
    return 1;
  }
  const std::int64_t all = proto::AllIntermediateBlocks(config).size();
  const std::int64_t own = std::max<std::int64_t>(partition.intermediate_blocks.size(), 1);
  const bool is_node = all % own == 0 && std::has_single_bit(static_cast<std::uint64_t>(all / own));
  return is_node ? 1 : 1 + std::bit_width(static_cast<std::uint64_t>(own));
}

/// Bytes of the buffers, besides K/V, that plans of these limits use.
std::int64_t ActivationBytes(const ModelConfig& config, const proto::Partition& partition,
                             const proto::PlanLimits& limits, ProductPrecisions precisions) {
  const bool is_alone = partition.heads.size() == config.num_attention_heads;
  const std::int64_t h = config.hidden_size;
  const std::int64_t nodes = MostNodes(config, partition);
  const std::int64_t exchanged =
      1 + (UsesSummands(config, is_alone) ? nodes : 0) + (is_alone ? 0 : nodes);
  return Workspace::Bytes(config, partition, limits, precisions.layers) +
         (config.read_head ? 0
                           : LmHead::Bytes(h, partition.vocabulary.size(), limits.max_reads,
                                           precisions.lm_head)) +
         static_cast<std::int64_t>(config.rope_tables.size()) *
             RopeTable::Bytes(config.head_dim, std::max(limits.max_rows, limits.longest_text)) +
         kFloat * limits.text_rows * h +
         // Three parts: the rows that the ranks share; the summands, if they are used; summands and
         // sums that travel between hosts, which are at most as many.
         kFloat * limits.max_rows * h * exchanged;
}

/// Parameters of the steps of a ReadHead.
std::int64_t StepParameters(const ModelConfig& config) {
  std::int64_t parameters = 0;
  for (const StepTensor& tensor : HeadStepTensors(config)) {
    parameters += std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                                  std::multiplies<>());
  }
  return parameters;
}

/// Bytes of K/V for plans of these limits.
std::int64_t KvBytes(const ModelConfig& config, const proto::Partition& partition,
                     const proto::PlanLimits& limits, Precision layers) {
  const KeptKv kept = KeptKvOf(config, limits);
  return KvStore::Bytes(KvElementSize(layers), kept.layers, partition.kv_heads.size(),
                        config.head_dim, kept.rows, limits.pass_kv_rows);
}

}  // namespace

HeldWeights HoldWeights(const ArithmeticChoice& choice, const Checkpoint& checkpoint,
                        const ModelConfig& config) {
  // A missing tensor is skipped here, because loading reports it.
  std::set<Dtype> types;
  for (const TensorSpec& tensor : AllTensors(config)) {
    if (tensor.storage == Storage::kLayerProduct && checkpoint.Has(tensor.name)) {
      types.insert(checkpoint.Get(tensor.name).dtype);
    }
  }
  const std::optional<TensorSpec> head = HeadTensor(checkpoint, config);
  const Dtype of_layers = types.size() == 1 ? *types.begin() : Dtype::kF32;
  const Dtype of_head =
      head && checkpoint.Has(head->name) ? checkpoint.Get(head->name).dtype : Dtype::kF32;
  return {.precisions = choice.precisions(),
          .layer_size = choice.layer_backend->WeightSize(choice.layers, of_layers),
          .lm_head_size = choice.lm_head_backend->WeightSize(choice.lm_head, of_head)};
}

MemoryEstimate EstimateMemory(const ModelConfig& config, const proto::Partition& partition,
                              const proto::PlanLimits& limits, const HeldWeights& weights) {
  const Precision layers = weights.precisions.layers;
  MemoryEstimate estimate;
  for (const TensorSpec& tensor : AllTensors(config)) {
    if (tensor.is_required()) {
      estimate.weights += StoredBytes(tensor, config, partition, weights);
    }
  }
  const bool is_rank_0 = partition.heads.begin == 0;
  estimate.weights += is_rank_0 ? kFloat * StepParameters(config) : 0;
  estimate.activations = ActivationBytes(config, partition, limits, weights.precisions);
  estimate.kv = KvBytes(config, partition, limits, layers);
  const proto::PlanLimits touched = proto::TouchedLimits(limits);
  estimate.touched = ActivationBytes(config, partition, touched, weights.precisions) +
                     KvBytes(config, partition, touched, layers);
  return estimate;
}

std::int64_t CountParameters(const ModelConfig& config) {
  std::int64_t parameters = 0;
  std::set<std::pair<std::string_view, std::size_t>> counted;
  const std::vector<TensorSpec> tensors = AllTensors(config);
  for (const TensorSpec& tensor : tensors) {
    if (tensor.is_required() && counted.emplace(tensor.name, tensor.place).second) {
      parameters += SizeOf(tensor.out, config) * SizeOf(tensor.in, config);
    }
  }
  return parameters + StepParameters(config);
}

}  // namespace scorecast::shard
