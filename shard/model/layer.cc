#include "shard/model/layer.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "proto/base/check.h"
#include "shard/checkpoint/tensor_view.h"
#include "shard/model/tensors.h"

namespace scorecast::shard {
namespace {

using proto::ModelConfig;
using proto::Range;

/// Reads the tensors of one layer.
class LayerReader {
 public:
  LayerReader(const Checkpoint& checkpoint, const ModelConfig& config,
              const proto::Partition& partition, std::int64_t index)
      : checkpoint_(checkpoint),
        config_(config),
        partition_(partition),
        tensors_(LayerTensors(config, index)) {}

  /// A tensor that every layer has.
  const TensorView& Tensor(TensorRole role) const {
    const TensorSpec* tensor = FindTensor(tensors_, role);
    proto::Check(tensor != nullptr, "every layer has its weights");
    return Require(checkpoint_, *tensor, config_);
  }

  /// The multipliers of a norm; empty if the layer has none.
  std::vector<float> Norm(TensorRole role) const {
    const TensorSpec* tensor = FindTensor(tensors_, role);
    return tensor == nullptr ? std::vector<float>()
                             : LoadNorm(Require(checkpoint_, *tensor, config_), config_);
  }

  /// This rank's part of a vector; empty if the layer has none.
  std::vector<float> Vector(TensorRole role) const {
    const TensorSpec* tensor = FindTensor(tensors_, role);
    if (tensor == nullptr) {
      return {};
    }
    const Range part = PartOf(tensor->out, config_, partition_);
    std::vector<float> values(static_cast<std::size_t>(part.size()));
    ReadRows(Require(checkpoint_, *tensor, config_), part, values.data());
    return values;
  }

 private:
  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
  const proto::Partition& partition_;
  std::vector<TensorSpec> tensors_;
};

/// Consecutive rows of a weight.
struct RowBlock {
  const TensorView* weight;
  Range rows;
};

/// Multiplies the columns of rows [count, n] by `factors` [n]; does nothing if `factors` is empty.
void ScaleColumns(const std::vector<float>& factors, std::int64_t count, float* rows) {
  const std::size_t n = factors.size();
  for (std::int64_t row = 0; n > 0 && row < count; ++row, rows += n) {
    std::transform(factors.begin(), factors.end(), rows, rows, std::multiplies<>());
  }
}

/// Packs rows of weights, one below the other. `chunks` lists the rows of every chunk, which are
/// used in groups of `group`.
Linear PackRows(const Packing& packing, const std::vector<std::vector<RowBlock>>& chunks,
                std::int64_t group, std::int64_t in, const std::vector<float>& column_factors) {
  WeightSource source;
  source.group = group;
  source.in = in;
  std::set<Dtype> types;
  for (const std::vector<RowBlock>& chunk : chunks) {
    std::int64_t& width = source.widths.emplace_back(0);
    for (const RowBlock& block : chunk) {
      width += block.rows.size();
      types.insert(block.weight->dtype);
    }
  }
  if (types.size() == 1 && column_factors.empty()) {
    source.stored = *types.begin();
  }
  source.read = [&](std::int64_t chunk, float* rows) {
    float* next = rows;
    for (const RowBlock& block : chunks[static_cast<std::size_t>(chunk)]) {
      ReadRows(*block.weight, block.rows, next);
      next += block.rows.size() * in;
    }
    ScaleColumns(column_factors, (next - rows) / std::max<std::int64_t>(in, 1), rows);
  };
  return {packing.backend, packing.precision, source, packing.pool, packing.scratch};
}

/// Packs some columns of a weight [out, …] as [out, columns].
Linear PackColumns(const Packing& packing, const TensorView& weight, std::int64_t out,
                   Range columns) {
  WeightSource source;
  source.in = columns.size();
  source.stored = weight.dtype;
  source.widths = Chunks(out, kChunkOutputs);
  source.read = [&](std::int64_t chunk, float* rows) {
    const std::int64_t begin = chunk * kChunkOutputs;
    ReadBlock(weight, {begin, begin + source.widths[static_cast<std::size_t>(chunk)]}, columns,
              rows, columns.size());
  };
  return {packing.backend, packing.precision, source, packing.pool, packing.scratch};
}

/// Appends a range of rows, cut into chunks of `width`.
void AppendChunks(const TensorView& weight, Range rows, std::int64_t width,
                  std::vector<std::vector<RowBlock>>& chunks) {
  std::int64_t begin = rows.begin;
  for (const std::int64_t size : Chunks(rows.size(), width)) {
    chunks.push_back({{&weight, {begin, begin + size}}});
    begin += size;
  }
}

void Append(const std::vector<float>& more, std::vector<float>& list) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

bool UsesSummands(const ModelConfig& config, bool is_alone) {
  return !is_alone || std::ranges::any_of(config.layers, [](const proto::LayerConfig& layer) {
    return layer.post_attention_norm || layer.post_feedforward_norm;
  });
}

std::vector<float> LoadNorm(const TensorView& weight, const ModelConfig& config) {
  std::vector<float> multipliers(static_cast<std::size_t>(weight.shape[0]));
  ReadRows(weight, {0, weight.shape[0]}, multipliers.data());
  if (config.norm_weights_plus_one) {
    for (float& multiplier : multipliers) {
      multiplier += 1.0F;
    }
  }
  return multipliers;
}

Layer LoadLayer(const Checkpoint& checkpoint, const ModelConfig& config,
                const proto::Partition& partition, std::int64_t index, const Packing& packing) {
  using Role = TensorRole;
  const LayerReader reader(checkpoint, config, partition, index);
  const std::int64_t hidden = config.hidden_size;
  const Range q = PartOf(Dim::kQueryHeads, config, partition);
  const Range kv = PartOf(Dim::kKvHeads, config, partition);
  const Range i = partition.intermediate;

  std::vector<float> qkv_bias;
  for (const Role role : {Role::kQueryBias, Role::kKeyBias, Role::kValueBias}) {
    Append(reader.Vector(role), qkv_bias);
  }

  std::vector<float> input_norm = reader.Norm(Role::kInputNorm);
  std::vector<float> pre_feedforward_norm = reader.Norm(Role::kPreFeedforwardNorm);
  std::vector<float> input_factors;
  std::vector<float> pre_feedforward_factors;
  if (packing.precision == Precision::kInt8) {
    input_factors = std::exchange(input_norm, std::vector<float>(input_norm.size(), 1.0F));
    pre_feedforward_factors =
        std::exchange(pre_feedforward_norm, std::vector<float>(pre_feedforward_norm.size(), 1.0F));
  }

  const std::int64_t head_chunk =
      std::max<std::int64_t>(kChunkOutputs / config.head_dim, 1) * config.head_dim;
  std::vector<std::vector<RowBlock>> qkv_chunks;
  AppendChunks(reader.Tensor(Role::kQuery), q, head_chunk, qkv_chunks);
  const auto query_chunks = static_cast<std::int64_t>(qkv_chunks.size());
  AppendChunks(reader.Tensor(Role::kKey), kv, head_chunk, qkv_chunks);
  AppendChunks(reader.Tensor(Role::kValue), kv, head_chunk, qkv_chunks);

  const TensorView& gate = reader.Tensor(Role::kGate);
  const TensorView& up = reader.Tensor(Role::kUp);
  std::vector<std::vector<RowBlock>> gate_up_chunks;
  std::int64_t begin = i.begin;
  for (const std::int64_t size : Chunks(i.size(), kChunkOutputs / 2)) {
    std::vector<RowBlock>& chunk = gate_up_chunks.emplace_back();
    for (const std::int64_t end = begin + size; begin < end;) {
      const Range rows = {begin, std::min(begin + kGateBlock, end)};
      chunk.push_back({&gate, rows});
      chunk.push_back({&up, rows});
      begin = rows.end;
    }
  }

  return Layer{
      .index = index,
      .options = config.layers[static_cast<std::size_t>(index)],
      .input_norm = std::move(input_norm),
      .qkv = PackRows(packing, qkv_chunks, config.head_dim, hidden, input_factors),
      .query_chunks = query_chunks,
      .qkv_bias = std::move(qkv_bias),
      .query_norm = reader.Norm(Role::kQueryNorm),
      .key_norm = reader.Norm(Role::kKeyNorm),
      .output = PackColumns(packing, reader.Tensor(Role::kOutput), hidden, q),
      .output_bias = reader.Vector(Role::kOutputBias),
      .post_attention_norm = reader.Norm(Role::kPostAttentionNorm),
      .pre_feedforward_norm = std::move(pre_feedforward_norm),
      .gate_up = PackRows(packing, gate_up_chunks, 2 * kGateBlock, hidden, pre_feedforward_factors),
      .gate_bias = reader.Vector(Role::kGateBias),
      .up_bias = reader.Vector(Role::kUpBias),
      .down = PackColumns(packing, reader.Tensor(Role::kDown), hidden, i),
      .down_bias = reader.Vector(Role::kDownBias),
      .post_feedforward_norm = reader.Norm(Role::kPostFeedforwardNorm),
  };
}

}  // namespace scorecast::shard
