#include "shard/model/layer.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "proto/base/check.h"
#include "shard/checkpoint/tensor_view.h"
#include "shard/exchange/sum_tree.h"
#include "shard/model/tensors.h"

namespace scorecast::shard {
namespace {

using proto::ModelConfig;
using proto::Range;

/// Consecutive rows of a stored tensor.
struct RowBlock {
  const TensorView* weight;
  Range rows;
};

/// Columns of a matrix, of all rows.
struct ColumnBlock {
  const TensorView* weight;
  Range columns;
};

/// Reads the tensors of one layer.
class LayerReader {
 public:
  LayerReader(const Checkpoint& checkpoint, const ModelConfig& config,
              const proto::Partition& partition, std::int64_t index, const LayerColumns& columns)
      : checkpoint_(checkpoint),
        config_(config),
        partition_(partition),
        columns_(columns),
        tensors_(LayerTensors(config, index)) {}

  /// The part of a weight's rows that this rank has; `rows` counts from the weight's first row.
  RowBlock Rows(TensorRole role, Range rows) const {
    const TensorSpec& tensor = Spec(role);
    return {&Require(checkpoint_, tensor, config_), StoredRows(tensor, rows, config_)};
  }
  /// The part of a weight's columns that this rank has.
  ColumnBlock Columns(TensorRole role, Range columns) const {
    const TensorView& stored = Require(checkpoint_, Spec(role), config_);
    const auto in_memory = columns_.find(&stored);
    return in_memory == columns_.end() ? ColumnBlock{&stored, columns}
                                       : ColumnBlock{&in_memory->second.view, {0, columns.size()}};
  }

  Norm NormOf(TensorRole weight, std::optional<TensorRole> bias = std::nullopt) const {
    return LoadNorm(checkpoint_, config_, tensors_, weight, bias);
  }

  /// This rank's part of a vector; empty if the layer has none.
  std::vector<float> Vector(TensorRole role) const {
    const TensorSpec* tensor = FindTensor(tensors_, role);
    if (tensor == nullptr) {
      return {};
    }
    const Range part = PartOf(tensor->out, config_, partition_);
    std::vector<float> values(static_cast<std::size_t>(part.size()));
    ReadRows(Require(checkpoint_, *tensor, config_), StoredRows(*tensor, part, config_),
             values.data());
    return values;
  }

 private:
  /// A tensor that every layer has.
  const TensorSpec& Spec(TensorRole role) const {
    const TensorSpec* tensor = FindTensor(tensors_, role);
    proto::Check(tensor != nullptr, "every layer has its weights");
    return *tensor;
  }

  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
  const proto::Partition& partition_;
  const LayerColumns& columns_;
  std::vector<TensorSpec> tensors_;
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
                std::int64_t group, std::int64_t in, const std::vector<float>& column_factors,
                std::vector<std::int64_t> other_widths = {}) {
  WeightSource source;
  source.other_widths = std::move(other_widths);
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

/// How a rank adds up the products of its own blocks: the results are the nodes of the tree over
/// all blocks of which its own consist. If the model is not divided in blocks, a rank has one
/// block.
std::vector<BlockStep> StepsOf(const proto::Blocks& own, std::int64_t all_blocks) {
  const SumTree tree = SumTree::OfBlocks({{0, all_blocks}});
  std::vector<BlockStep> steps;
  for (const Range node : tree.NodesOf(own.numbers())) {
    std::vector<Range> leaves;
    for (std::int64_t block = node.begin; block < node.end; ++block) {
      leaves.push_back({block, block + 1});
    }
    std::vector<int> joins = tree.JoinsAfter(leaves);
    joins.back() += leaves.size() > 1 ? 1 : 0;  // The node itself.
    for (const int count : joins) {
      steps.push_back({.joins = count, .is_result = false});
    }
    steps.back().is_result = true;
  }
  return steps;
}

/// Packs some columns of a weight [out, …] as [out, columns], block by block. A unit of the blocks
/// is `unit` columns, and `columns` are those of all of the rank's blocks. With `in_blocks`, the
/// model is divided in blocks (Sharding::kInBlocks).
Linear PackColumns(const Packing& packing, const ColumnBlock& columns, std::int64_t out,
                   const proto::Blocks& blocks, std::int64_t unit,
                   const std::vector<BlockStep>& steps, bool in_blocks) {
  const std::int64_t before = columns.columns.begin - blocks.range().begin * unit;
  std::vector<WeightSource> sources(static_cast<std::size_t>(blocks.size()));
  for (std::size_t block = 0; block < sources.size(); ++block) {
    const Range units = blocks[static_cast<std::int64_t>(block)];
    const Range stored = {before + units.begin * unit, before + units.end * unit};
    WeightSource& source = sources[block];
    source.in = stored.size();
    source.is_block = in_blocks;
    source.stored = columns.weight->dtype;
    source.widths = Chunks(out, kChunkOutputs);
    source.read = [&weight = *columns.weight, stored, widths = source.widths](std::int64_t chunk,
                                                                              float* rows) {
      const std::int64_t begin = chunk * kChunkOutputs;
      ReadBlock(weight, {begin, begin + widths[static_cast<std::size_t>(chunk)]}, stored, rows,
                stored.size());
    };
  }
  return {packing.backend, packing.precision, sources,        steps,
          packing.kernels, packing.pool,      packing.scratch};
}

/// Appends rows, cut into chunks of `width`.
void AppendChunks(const RowBlock& block, std::int64_t width,
                  std::vector<std::vector<RowBlock>>& chunks) {
  std::int64_t begin = block.rows.begin;
  for (const std::int64_t size : Chunks(block.rows.size(), width)) {
    chunks.push_back({{block.weight, {begin, begin + size}}});
    begin += size;
  }
}

/// Appends chunks of blocks of kGateBlock gates, each followed by a block of as many ups.
void AppendGateUpChunks(const RowBlock& gate, const RowBlock& up,
                        std::vector<std::vector<RowBlock>>& chunks) {
  std::int64_t begin = 0;
  for (const std::int64_t size : Chunks(gate.rows.size(), kChunkOutputs / 2)) {
    std::vector<RowBlock>& chunk = chunks.emplace_back();
    for (const std::int64_t end = begin + size; begin < end;) {
      const std::int64_t next = std::min(begin + kGateBlock, end);
      for (const RowBlock& of : {gate, up}) {
        chunk.push_back({of.weight, {of.rows.begin + begin, of.rows.begin + next}});
      }
      begin = next;
    }
  }
}

/// Widths of the chunks of gates and ups in all blocks, each once.
std::vector<std::int64_t> GateUpWidths(const ModelConfig& config) {
  const proto::Blocks blocks = proto::AllIntermediateBlocks(config);
  const std::int64_t width = config.gated_feedforward ? 2 : 1;
  std::set<std::int64_t> widths;
  for (std::int64_t block = 0; block < blocks.size(); ++block) {
    for (const std::int64_t outputs : Chunks(blocks[block].size(), kChunkOutputs / width)) {
      widths.insert(outputs * width);
    }
  }
  return {widths.begin(), widths.end()};
}

/// Takes a norm's multipliers away, to be multiplied into a product's columns; leaves them, and
/// returns nothing, if the norm also adds.
std::vector<float> TakeFactors(Norm& norm) {
  if (!norm.bias.empty()) {
    return {};
  }
  return std::exchange(norm.weight, std::vector<float>(norm.weight.size(), 1.0F));
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

Layer LoadLayer(const Checkpoint& checkpoint, const ModelConfig& config,
                const proto::Partition& partition, std::int64_t index, const Packing& packing,
                const LayerColumns& columns) {
  using Role = TensorRole;
  const LayerReader reader(checkpoint, config, partition, index, columns);
  const std::int64_t hidden = config.hidden_size;
  const Range q = PartOf(Dim::kQueryHeads, config, partition);
  const Range kv = PartOf(Dim::kKvHeads, config, partition);

  std::vector<float> qkv_bias;
  for (const Role role : {Role::kQueryBias, Role::kKeyBias, Role::kValueBias}) {
    Append(reader.Vector(role), qkv_bias);
  }

  Norm input_norm = reader.NormOf(Role::kInputNorm, Role::kInputNormBias);
  Norm pre_feedforward_norm =
      reader.NormOf(Role::kPreFeedforwardNorm, Role::kPreFeedforwardNormBias);
  std::vector<float> input_factors;
  std::vector<float> pre_feedforward_factors;
  if (packing.precision == Precision::kInt8) {
    input_factors = TakeFactors(input_norm);
    pre_feedforward_factors = TakeFactors(pre_feedforward_norm);
  }

  // In blocks, every rank computes an output in the same chunk. So no chunk has outputs of two
  // blocks.
  const bool in_blocks = partition.sharding == proto::Sharding::kInBlocks;
  const std::int64_t head_chunk =
      in_blocks ? config.head_dim
                : std::max<std::int64_t>(kChunkOutputs / config.head_dim, 1) * config.head_dim;
  std::vector<std::vector<RowBlock>> qkv_chunks;
  AppendChunks(reader.Rows(Role::kQuery, q), head_chunk, qkv_chunks);
  const auto query_chunks = static_cast<std::int64_t>(qkv_chunks.size());
  AppendChunks(reader.Rows(Role::kKey, kv), head_chunk, qkv_chunks);
  AppendChunks(reader.Rows(Role::kValue, kv), head_chunk, qkv_chunks);

  std::vector<std::vector<RowBlock>> gate_up_chunks;
  for (std::int64_t block = 0; block < partition.intermediate_blocks.size(); ++block) {
    const Range rows = partition.intermediate_blocks[block];
    const RowBlock up = reader.Rows(Role::kUp, rows);
    if (config.gated_feedforward) {
      AppendGateUpChunks(reader.Rows(Role::kGate, rows), up, gate_up_chunks);
    } else {
      AppendChunks(up, kChunkOutputs, gate_up_chunks);
    }
  }
  // Blocks of all ranks.
  const std::int64_t all_heads =
      in_blocks ? config.num_attention_heads : partition.head_blocks.numbers().end;
  const std::int64_t all_columns = in_blocks ? proto::AllIntermediateBlocks(config).size()
                                             : partition.intermediate_blocks.numbers().end;
  const std::int64_t gate_up_group = config.gated_feedforward ? 2 * kGateBlock : 1;

  return Layer{
      .index = index,
      .options = config.layers[static_cast<std::size_t>(index)],
      .input_norm = std::move(input_norm),
      .qkv = PackRows(packing, qkv_chunks, config.head_dim, hidden, input_factors),
      .query_chunks = query_chunks,
      .qkv_bias = std::move(qkv_bias),
      .query_norm = reader.NormOf(Role::kQueryNorm),
      .key_norm = reader.NormOf(Role::kKeyNorm),
      .output =
          PackColumns(packing, reader.Columns(Role::kOutput, q), hidden, partition.head_blocks,
                      config.head_dim, StepsOf(partition.head_blocks, all_heads), in_blocks),
      .output_bias = reader.Vector(Role::kOutputBias),
      .post_attention_norm = reader.NormOf(Role::kPostAttentionNorm),
      .attention_residual_norm =
          reader.NormOf(Role::kAttentionResidualNorm, Role::kAttentionResidualNormBias),
      .pre_feedforward_norm = std::move(pre_feedforward_norm),
      .gate_up = PackRows(packing, gate_up_chunks, gate_up_group, hidden, pre_feedforward_factors,
                          in_blocks ? GateUpWidths(config) : std::vector<std::int64_t>()),
      .gate_bias = reader.Vector(Role::kGateBias),
      .up_bias = reader.Vector(Role::kUpBias),
      .down = PackColumns(packing, reader.Columns(Role::kDown, partition.intermediate), hidden,
                          partition.intermediate_blocks, 1,
                          StepsOf(partition.intermediate_blocks, all_columns), in_blocks),
      .down_bias = reader.Vector(Role::kDownBias),
      .post_feedforward_norm = reader.NormOf(Role::kPostFeedforwardNorm),
      .feedforward_residual_norm =
          reader.NormOf(Role::kFeedforwardResidualNorm, Role::kFeedforwardResidualNormBias),
  };
}

}  // namespace scorecast::shard
