#include "shard/model/layer.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "shard/checkpoint/slices.h"

namespace scorecast::shard {
namespace {

using proto::ModelConfig;
using proto::Range;

Range Scaled(Range range, std::int64_t factor) {
  return {range.begin * factor, range.end * factor};
}

std::string LayerPrefix(std::int64_t index) {
  return "model.layers." + std::to_string(index) + ".";
}

/// Reads the tensors of one layer.
class LayerReader {
 public:
  LayerReader(const Checkpoint& checkpoint, std::int64_t index)
      : checkpoint_(checkpoint), prefix_(LayerPrefix(index)) {}

  const TensorView& Tensor(const std::string& name, std::vector<std::int64_t> shape) const {
    return checkpoint_.Require(prefix_ + name, shape);
  }

  std::vector<float> Vector(const std::string& name, std::int64_t size) const {
    return Part(name, size, {0, size});
  }

  std::vector<float> Part(const std::string& name, std::int64_t size, Range range) const {
    std::vector<float> values(static_cast<std::size_t>(range.size()));
    ReadRows(Tensor(name, {size}), range, values.data());
    return values;
  }

 private:
  const Checkpoint& checkpoint_;
  std::string prefix_;
};

/// Rows of one weight, or of a stack of them.
struct RowBlock {
  const TensorView* weight;
  Range rows;
};

/// Multiplies the columns of rows [count, n] by `factors` [n], unless it is empty.
void ScaleColumns(const std::vector<float>& factors, std::int64_t count, float* rows) {
  const std::size_t n = factors.size();
  for (std::int64_t row = 0; n > 0 && row < count; ++row, rows += n) {
    std::transform(factors.begin(), factors.end(), rows, rows, std::multiplies<>());
  }
}

/// Rows of weights above each other; every chunk of rows is listed.
Linear PackRows(const Checkpoint& checkpoint, const Packing& packing,
                const std::vector<std::vector<RowBlock>>& chunks, std::int64_t in,
                const std::vector<float>& column_factors) {
  WeightSource source;
  source.in = in;
  for (const std::vector<RowBlock>& chunk : chunks) {
    std::int64_t& width = source.widths.emplace_back(0);
    for (const RowBlock& block : chunk) {
      width += block.rows.size();
    }
  }
  source.read = [&](std::int64_t chunk, float* rows) {
    float* next = rows;
    for (const RowBlock& block : chunks[static_cast<std::size_t>(chunk)]) {
      ReadRows(*block.weight, block.rows, next);
      next += block.rows.size() * in;
    }
    ScaleColumns(column_factors, (next - rows) / std::max<std::int64_t>(in, 1), rows);
  };
  Linear linear(packing.backend, packing.precision, source, packing.pool, packing.scratch);
  std::set<const TensorView*> weights;
  for (const std::vector<RowBlock>& chunk : chunks) {
    for (const RowBlock& block : chunk) {
      weights.insert(block.weight);
    }
  }
  for (const TensorView* weight : weights) {
    checkpoint.Release(*weight);
  }
  return linear;
}

/// Some columns of a weight [out, …]: [out, columns].
Linear PackColumns(const Checkpoint& checkpoint, const Packing& packing, const TensorView& weight,
                   std::int64_t out, Range columns) {
  WeightSource source;
  source.in = columns.size();
  source.widths = Chunks(out, kChunkOutputs);
  source.read = [&](std::int64_t chunk, float* rows) {
    const std::int64_t begin = chunk * kChunkOutputs;
    ReadBlock(weight, {begin, begin + source.widths[static_cast<std::size_t>(chunk)]}, columns,
              rows, columns.size());
  };
  Linear linear(packing.backend, packing.precision, source, packing.pool, packing.scratch);
  checkpoint.Release(weight);
  return linear;
}

/// A range of rows in chunks of `width`, each a chunk of its own.
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

/// The names, after "model.layers.N.", of the tensors that a layer has.
std::set<std::string> LayerTensorNames(const ModelConfig& config) {
  std::set<std::string> names = {
      "input_layernorm.weight",        "post_attention_layernorm.weight",
      "self_attn.q_proj.weight",       "self_attn.k_proj.weight",
      "self_attn.v_proj.weight",       "self_attn.o_proj.weight",
      "mlp.gate_proj.weight",          "mlp.up_proj.weight",
      "mlp.down_proj.weight",
      "self_attn.rotary_emb.inv_freq",  // In old checkpoints; follows from rope_theta.
  };
  if (config.attention_bias) {
    names.insert({"self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"});
  }
  if (config.attention_output_bias) {
    names.insert("self_attn.o_proj.bias");
  }
  if (config.mlp_bias) {
    names.insert({"mlp.gate_proj.bias", "mlp.up_proj.bias", "mlp.down_proj.bias"});
  }
  if (config.qk_norm) {
    names.insert({"self_attn.q_norm.weight", "self_attn.k_norm.weight"});
  }
  return names;
}

}  // namespace

Layer LoadLayer(const Checkpoint& checkpoint, const ModelConfig& config,
                const proto::Partition& partition, std::int64_t index, const Packing& packing) {
  const LayerReader reader(checkpoint, index);
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t all_q = config.num_attention_heads * config.head_dim;
  const std::int64_t all_kv = config.num_key_value_heads * config.head_dim;
  const std::int64_t all_i = config.intermediate_size;
  const Range q = Scaled(partition.heads, config.head_dim);
  const Range kv = Scaled(partition.kv_heads, config.head_dim);
  const Range i = partition.intermediate;

  std::vector<float> qkv_bias;
  if (config.attention_bias) {
    Append(reader.Part("self_attn.q_proj.bias", all_q, q), qkv_bias);
    Append(reader.Part("self_attn.k_proj.bias", all_kv, kv), qkv_bias);
    Append(reader.Part("self_attn.v_proj.bias", all_kv, kv), qkv_bias);
  }
  std::vector<float> gate_bias;
  std::vector<float> up_bias;
  std::vector<float> down_bias;
  if (config.mlp_bias) {
    gate_bias = reader.Part("mlp.gate_proj.bias", all_i, i);
    up_bias = reader.Part("mlp.up_proj.bias", all_i, i);
    down_bias = reader.Vector("mlp.down_proj.bias", hidden);
  }
  std::vector<float> query_norm;
  std::vector<float> key_norm;
  if (config.qk_norm) {
    query_norm = reader.Vector("self_attn.q_norm.weight", config.head_dim);
    key_norm = reader.Vector("self_attn.k_norm.weight", config.head_dim);
  }
  std::vector<float> output_bias;
  if (config.attention_output_bias) {
    output_bias = reader.Vector("self_attn.o_proj.bias", hidden);
  }

  std::vector<float> input_norm = reader.Vector("input_layernorm.weight", hidden);
  std::vector<float> post_attention_norm = reader.Vector("post_attention_layernorm.weight", hidden);
  std::vector<float> input_factors;
  std::vector<float> post_attention_factors;
  if (packing.precision == Precision::kInt8) {
    input_factors = std::exchange(input_norm, std::vector<float>(input_norm.size(), 1.0F));
    post_attention_factors =
        std::exchange(post_attention_norm, std::vector<float>(post_attention_norm.size(), 1.0F));
  }

  const std::int64_t head_chunk =
      std::max<std::int64_t>(kChunkOutputs / config.head_dim, 1) * config.head_dim;
  std::vector<std::vector<RowBlock>> qkv_chunks;
  AppendChunks(reader.Tensor("self_attn.q_proj.weight", {all_q, hidden}), q, head_chunk,
               qkv_chunks);
  const auto query_chunks = static_cast<std::int64_t>(qkv_chunks.size());
  AppendChunks(reader.Tensor("self_attn.k_proj.weight", {all_kv, hidden}), kv, head_chunk,
               qkv_chunks);
  AppendChunks(reader.Tensor("self_attn.v_proj.weight", {all_kv, hidden}), kv, head_chunk,
               qkv_chunks);

  const TensorView& gate = reader.Tensor("mlp.gate_proj.weight", {all_i, hidden});
  const TensorView& up = reader.Tensor("mlp.up_proj.weight", {all_i, hidden});
  std::vector<std::vector<RowBlock>> gate_up_chunks;
  std::int64_t begin = i.begin;
  for (const std::int64_t size : Chunks(i.size(), kChunkOutputs / 2)) {
    const Range rows = {begin, begin + size};
    gate_up_chunks.push_back({{&gate, rows}, {&up, rows}});
    begin += size;
  }

  return Layer{
      .input_norm = std::move(input_norm),
      .qkv = PackRows(checkpoint, packing, qkv_chunks, hidden, input_factors),
      .query_chunks = query_chunks,
      .qkv_bias = std::move(qkv_bias),
      .query_norm = std::move(query_norm),
      .key_norm = std::move(key_norm),
      .output = PackColumns(checkpoint, packing,
                            reader.Tensor("self_attn.o_proj.weight", {hidden, all_q}), hidden, q),
      .output_bias = std::move(output_bias),
      .post_attention_norm = std::move(post_attention_norm),
      .gate_up = PackRows(checkpoint, packing, gate_up_chunks, hidden, post_attention_factors),
      .gate_bias = std::move(gate_bias),
      .up_bias = std::move(up_bias),
      .down = PackColumns(checkpoint, packing,
                          reader.Tensor("mlp.down_proj.weight", {hidden, all_i}), hidden, i),
      .down_bias = std::move(down_bias),
  };
}

void RefuseUnknownTensors(const Checkpoint& checkpoint, const ModelConfig& config) {
  std::set<std::string> known = {
      "model.embed_tokens.weight", "model.norm.weight",
      "lm_head.weight",  // Where it is tied it may be there as well, a copy.
  };
  const std::set<std::string> of_a_layer = LayerTensorNames(config);
  for (std::int64_t index = 0; index < config.num_hidden_layers; ++index) {
    for (const std::string& name : of_a_layer) {
      known.insert(LayerPrefix(index) + name);
    }
  }
  for (const std::string& name : checkpoint.Names()) {
    if (!known.contains(name)) {
      throw proto::StartupError("the checkpoint has a tensor " + proto::Quoted(name, 120) +
                                " that config.json does not account for");
    }
  }
}

}  // namespace scorecast::shard
