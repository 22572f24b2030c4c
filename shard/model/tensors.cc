#include "shard/model/tensors.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::shard {
namespace {

using proto::LayerConfig;
using proto::ModelConfig;
using proto::Range;
using Role = TensorRole;

// Whether a model, or one of its layers, has a tensor.
using Condition = bool (*)(const ModelConfig&, const LayerConfig&);
bool Always(const ModelConfig& /*model*/, const LayerConfig& /*layer*/) { return true; }
bool Classifier(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return model.is_classifier();
}
bool TiedLmHead(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return !model.is_classifier() && model.tie_word_embeddings;
}
bool UntiedLmHead(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return !model.is_classifier() && !model.tie_word_embeddings;
}
bool QkvBias(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return model.attention_bias;
}
bool OutputBias(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return model.attention_output_bias;
}
bool MlpBias(const ModelConfig& model, const LayerConfig& /*layer*/) { return model.mlp_bias; }
bool QkNorm(const ModelConfig& /*model*/, const LayerConfig& layer) { return layer.qk_norm; }
bool PostAttentionNorm(const ModelConfig& /*model*/, const LayerConfig& layer) {
  return layer.post_attention_norm;
}
bool PostFeedforwardNorm(const ModelConfig& /*model*/, const LayerConfig& layer) {
  return layer.post_feedforward_norm;
}
template <Condition kCondition>
bool Not(const ModelConfig& model, const LayerConfig& layer) {
  return !kCondition(model, layer);
}

struct Entry {
  Role role;
  std::string_view name;
  Dim out;
  Dim in;
  Storage storage;
  Condition is_there;
  bool is_optional = false;
};

// clang-format off
constexpr Entry kModelTable[] = {
    {Role::kEmbedding,  "model.embed_tokens.weight", Dim::kVocabulary, Dim::kHidden, Storage::kInFile, Always},
    {Role::kFinalNorm,  "model.norm.weight",         Dim::kHidden,     Dim::kNone,   Storage::kVector, Always},
    {Role::kLmHead,     "lm_head.weight",            Dim::kOutput,     Dim::kHidden, Storage::kLmHead, UntiedLmHead},
    {Role::kLmHead,     "model.embed_tokens.weight", Dim::kOutput,     Dim::kHidden, Storage::kLmHead, TiedLmHead},
    {Role::kLmHead,     "score.weight",              Dim::kOutput,     Dim::kHidden, Storage::kLmHead, Classifier},
    {Role::kLmHeadBias, "score.bias",                Dim::kOutput,     Dim::kNone,   Storage::kVector, Classifier, /*is_optional=*/true},
    // It is usually a copy of the embedding.
    {Role::kOwnLmHead,  "lm_head.weight",            Dim::kOutput,     Dim::kHidden, Storage::kLmHead, TiedLmHead, /*is_optional=*/true},
    // It is left from the language model that became a classifier.
    {Role::kUnused,     "lm_head.weight",            Dim::kNone,       Dim::kNone,   Storage::kUnused, Classifier},
};

/// Names are those of transformers and follow "model.layers.N.". The norm before feed-forward is
/// called post_attention_layernorm if the layer has no norm behind attention, else
/// pre_feedforward_layernorm.
constexpr Entry kLayerTable[] = {
    {Role::kInputNorm,           "input_layernorm.weight",            Dim::kHidden,       Dim::kNone,         Storage::kVector,       Always},
    {Role::kQuery,               "self_attn.q_proj.weight",           Dim::kQueryHeads,   Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kQueryBias,           "self_attn.q_proj.bias",             Dim::kQueryHeads,   Dim::kNone,         Storage::kVector,       QkvBias},
    {Role::kKey,                 "self_attn.k_proj.weight",           Dim::kKvHeads,      Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kKeyBias,             "self_attn.k_proj.bias",             Dim::kKvHeads,      Dim::kNone,         Storage::kVector,       QkvBias},
    {Role::kValue,               "self_attn.v_proj.weight",           Dim::kKvHeads,      Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kValueBias,           "self_attn.v_proj.bias",             Dim::kKvHeads,      Dim::kNone,         Storage::kVector,       QkvBias},
    {Role::kQueryNorm,           "self_attn.q_norm.weight",           Dim::kHeadDim,      Dim::kNone,         Storage::kVector,       QkNorm},
    {Role::kKeyNorm,             "self_attn.k_norm.weight",           Dim::kHeadDim,      Dim::kNone,         Storage::kVector,       QkNorm},
    {Role::kUnused,              "self_attn.rotary_emb.inv_freq",     Dim::kNone,         Dim::kNone,         Storage::kUnused,       Always},  // Old checkpoints have it.
    {Role::kOutput,              "self_attn.o_proj.weight",           Dim::kHidden,       Dim::kQueryHeads,   Storage::kLayerProduct, Always},
    {Role::kOutputBias,          "self_attn.o_proj.bias",             Dim::kHidden,       Dim::kNone,         Storage::kVector,       OutputBias},
    {Role::kPostAttentionNorm,   "post_attention_layernorm.weight",   Dim::kHidden,       Dim::kNone,         Storage::kVector,       PostAttentionNorm},
    {Role::kPreFeedforwardNorm,  "pre_feedforward_layernorm.weight",  Dim::kHidden,       Dim::kNone,         Storage::kVector,       PostAttentionNorm},
    {Role::kPreFeedforwardNorm,  "post_attention_layernorm.weight",   Dim::kHidden,       Dim::kNone,         Storage::kVector,       Not<PostAttentionNorm>},
    {Role::kGate,                "mlp.gate_proj.weight",              Dim::kIntermediate, Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kGateBias,            "mlp.gate_proj.bias",                Dim::kIntermediate, Dim::kNone,         Storage::kVector,       MlpBias},
    {Role::kUp,                  "mlp.up_proj.weight",                Dim::kIntermediate, Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kUpBias,              "mlp.up_proj.bias",                  Dim::kIntermediate, Dim::kNone,         Storage::kVector,       MlpBias},
    {Role::kDown,                "mlp.down_proj.weight",              Dim::kHidden,       Dim::kIntermediate, Storage::kLayerProduct, Always},
    {Role::kDownBias,            "mlp.down_proj.bias",                Dim::kHidden,       Dim::kNone,         Storage::kVector,       MlpBias},
    {Role::kPostFeedforwardNorm, "post_feedforward_layernorm.weight", Dim::kHidden,       Dim::kNone,         Storage::kVector,       PostFeedforwardNorm},
};
// clang-format on

std::vector<TensorSpec> Select(std::span<const Entry> table, const std::string& prefix,
                               const ModelConfig& model, const LayerConfig& layer) {
  std::vector<TensorSpec> tensors;
  for (const Entry& entry : table) {
    if (entry.is_there(model, layer)) {
      tensors.push_back({entry.role, prefix + std::string(entry.name), entry.out, entry.in,
                         entry.storage, entry.is_optional});
    }
  }
  return tensors;
}

Range Scaled(Range range, std::int64_t factor) {
  return {range.begin * factor, range.end * factor};
}

}  // namespace

std::vector<TensorSpec> ModelTensors(const ModelConfig& config) {
  return Select(kModelTable, "", config, {});
}

std::vector<TensorSpec> LayerTensors(const ModelConfig& config, std::int64_t index) {
  return Select(kLayerTable, "model.layers." + std::to_string(index) + ".", config,
                config.layers[static_cast<std::size_t>(index)]);
}

std::vector<TensorSpec> AllTensors(const ModelConfig& config) {
  std::vector<TensorSpec> tensors = ModelTensors(config);
  for (std::int64_t index = 0; index < config.num_hidden_layers(); ++index) {
    std::ranges::move(LayerTensors(config, index), std::back_inserter(tensors));
  }
  return tensors;
}

const TensorSpec* FindTensor(std::span<const TensorSpec> tensors, TensorRole role) {
  const auto found = std::ranges::find(tensors, role, &TensorSpec::role);
  return found == tensors.end() ? nullptr : &*found;
}

TensorSpec HeadTensor(const Checkpoint& checkpoint, const ModelConfig& config) {
  const std::vector<TensorSpec> tensors = ModelTensors(config);
  const TensorSpec* own = FindTensor(tensors, Role::kOwnLmHead);
  const bool is_there = own != nullptr && checkpoint.Has(own->name);
  return is_there ? *own : *FindTensor(tensors, Role::kLmHead);
}

std::int64_t SizeOf(Dim dim, const ModelConfig& config) {
  switch (dim) {
    case Dim::kHidden:
      return config.hidden_size;
    case Dim::kHeadDim:
      return config.head_dim;
    case Dim::kQueryHeads:
      return config.num_attention_heads * config.head_dim;
    case Dim::kKvHeads:
      return config.num_key_value_heads * config.head_dim;
    case Dim::kIntermediate:
      return config.intermediate_size;
    case Dim::kVocabulary:
      return config.vocab_size;
    case Dim::kOutput:
      return config.output_size();
    case Dim::kNone:
      return 1;
  }
  return 0;
}

Range PartOf(Dim dim, const ModelConfig& config, const proto::Partition& partition) {
  switch (dim) {
    case Dim::kQueryHeads:
      return Scaled(partition.heads, config.head_dim);
    case Dim::kKvHeads:
      return Scaled(partition.kv_heads, config.head_dim);
    case Dim::kIntermediate:
      return partition.intermediate;
    case Dim::kOutput:
      return partition.vocabulary;
    case Dim::kHidden:
    case Dim::kHeadDim:
    case Dim::kVocabulary:
    case Dim::kNone:
      break;
  }
  return {0, SizeOf(dim, config)};
}

const TensorView& Require(const Checkpoint& checkpoint, const TensorSpec& tensor,
                          const ModelConfig& config) {
  std::vector<std::int64_t> shape = {SizeOf(tensor.out, config)};
  if (tensor.in != Dim::kNone) {
    shape.push_back(SizeOf(tensor.in, config));
  }
  return checkpoint.Require(tensor.name, shape);
}

void CheckTensors(const Checkpoint& checkpoint, const ModelConfig& config) {
  const std::vector<TensorSpec> tensors = AllTensors(config);
  std::set<std::string_view> known;
  for (const TensorSpec& tensor : tensors) {
    known.insert(tensor.name);
  }
  for (const std::string& name : checkpoint.Names()) {
    if (!known.contains(name)) {
      throw proto::StartupError("the checkpoint has a tensor " + proto::Quoted(name, 120) +
                                " that config.json does not account for");
    }
  }
  for (const TensorSpec& tensor : tensors) {
    const bool is_there = tensor.is_optional && checkpoint.Has(tensor.name);
    if (tensor.is_required() || is_there) {
      Require(checkpoint, tensor, config);
    }
  }
}

}  // namespace scorecast::shard
