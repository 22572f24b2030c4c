#include "shard/transformer/layer.h"

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

/// Some rows of one weight, as a part of a stacked one.
struct RowBlock {
  const TensorView* weight;
  Range rows;
};

/// The blocks above each other: [Σ rows, in].
Linear StackRows(const Checkpoint& checkpoint, GemmBackend& backend,
                 const std::vector<RowBlock>& blocks, std::int64_t in) {
  std::int64_t out = 0;
  for (const RowBlock& block : blocks) {
    out += block.rows.size();
  }
  AlignedBuffer<float> stacked(static_cast<std::size_t>(out * in));
  float* next = stacked.data();
  for (const RowBlock& block : blocks) {
    ReadRows(*block.weight, block.rows, next);
    checkpoint.Release(*block.weight);
    next += block.rows.size() * in;
  }
  return Linear(backend, std::move(stacked), out, in);
}

/// Some columns of a weight [out, …]: [out, columns].
Linear TakeColumns(const Checkpoint& checkpoint, GemmBackend& backend, const TensorView& weight,
                   std::int64_t out, Range columns) {
  AlignedBuffer<float> block(static_cast<std::size_t>(out * columns.size()));
  ReadBlock(weight, {0, out}, columns, block.data(), columns.size());
  checkpoint.Release(weight);
  return Linear(backend, std::move(block), out, columns.size());
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
                const proto::Partition& partition, std::int64_t index, GemmBackend& backend) {
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
  std::vector<float> gate_up_bias;
  std::vector<float> down_bias;
  if (config.mlp_bias) {
    Append(reader.Part("mlp.gate_proj.bias", all_i, i), gate_up_bias);
    Append(reader.Part("mlp.up_proj.bias", all_i, i), gate_up_bias);
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
  return Layer{
      .input_norm = reader.Vector("input_layernorm.weight", hidden),
      .qkv = StackRows(checkpoint, backend,
                       {{&reader.Tensor("self_attn.q_proj.weight", {all_q, hidden}), q},
                        {&reader.Tensor("self_attn.k_proj.weight", {all_kv, hidden}), kv},
                        {&reader.Tensor("self_attn.v_proj.weight", {all_kv, hidden}), kv}},
                       hidden),
      .qkv_bias = std::move(qkv_bias),
      .query_norm = std::move(query_norm),
      .key_norm = std::move(key_norm),
      .output = TakeColumns(checkpoint, backend,
                            reader.Tensor("self_attn.o_proj.weight", {hidden, all_q}), hidden, q),
      .output_bias = std::move(output_bias),
      .post_attention_norm = reader.Vector("post_attention_layernorm.weight", hidden),
      .gate_up = StackRows(checkpoint, backend,
                           {{&reader.Tensor("mlp.gate_proj.weight", {all_i, hidden}), i},
                            {&reader.Tensor("mlp.up_proj.weight", {all_i, hidden}), i}},
                           hidden),
      .gate_up_bias = std::move(gate_up_bias),
      .down = TakeColumns(checkpoint, backend,
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
