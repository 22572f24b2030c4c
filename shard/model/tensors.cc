#include "shard/model/tensors.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

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
bool HasLmHead(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return !model.is_classifier() && !model.read_head;
}
bool Classifier(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return model.is_classifier() && !model.read_head;
}
/// Whether the head of the model's architecture, if it has one, is replaced by another.
bool HeadReplaced(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return model.is_embedder() || (model.read_head && model.read_head->ends_with_module());
}
bool TiedLmHead(const ModelConfig& model, const LayerConfig& layer) {
  return HasLmHead(model, layer) && model.tie_word_embeddings;
}
bool UntiedLmHead(const ModelConfig& model, const LayerConfig& layer) {
  return HasLmHead(model, layer) && !model.tie_word_embeddings;
}
bool Positions(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return model.learned_positions.has_value();
}
bool TokenTypes(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return model.type_vocab_size > 0;
}
bool EmbeddingNorm(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return model.embedding_norm;
}
bool EmbeddingProjection(const ModelConfig& model, const LayerConfig& /*layer*/) {
  return model.embedding_size.has_value();
}
bool FinalNorm(const ModelConfig& model, const LayerConfig& /*layer*/) { return model.final_norm; }
bool NormBias(const ModelConfig& model, const LayerConfig& /*layer*/) { return model.norm_bias; }
bool InputNorm(const ModelConfig& /*model*/, const LayerConfig& layer) { return layer.input_norm; }
bool PreFeedforwardNorm(const ModelConfig& /*model*/, const LayerConfig& layer) {
  return layer.pre_feedforward_norm;
}
bool ResidualNorms(const ModelConfig& /*model*/, const LayerConfig& layer) {
  return layer.residual_norms;
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
template <Condition kFirst, Condition kSecond>
bool Both(const ModelConfig& model, const LayerConfig& layer) {
  return kFirst(model, layer) && kSecond(model, layer);
}

/// Weights that stand one below the other in one tensor.
constexpr Dim kQkvStack[] = {Dim::kQueryHeads, Dim::kKvHeads, Dim::kKvHeads};
constexpr Dim kGateUpStack[] = {Dim::kIntermediate, Dim::kIntermediate};

struct Entry {
  Role role;
  std::string_view name;
  Dim out;
  Dim in;
  Storage storage;
  Condition is_there;
  bool is_optional = false;
  std::span<const Dim> stack = {};
  std::size_t place = 0;
};

// clang-format off
/// Heads, whose names are the same whatever the naming of the other tensors.
constexpr Entry kHeadTable[] = {
    {Role::kLmHead,     "lm_head.weight", Dim::kOutput, Dim::kHidden, Storage::kLmHead, UntiedLmHead},
    {Role::kLmHead,     "score.weight",   Dim::kOutput, Dim::kHidden, Storage::kLmHead, Classifier},
    {Role::kLmHeadBias, "score.bias",     Dim::kOutput, Dim::kNone,   Storage::kVector, Classifier, /*is_optional=*/true},
    // It is usually a copy of the embedding.
    {Role::kOwnLmHead,  "lm_head.weight", Dim::kOutput, Dim::kHidden, Storage::kLmHead, TiedLmHead, /*is_optional=*/true},
    // They are left from a classifier that became an embedder or got modules.
    {Role::kUnused,     "score.weight",   Dim::kNone,   Dim::kNone,   Storage::kUnused, HeadReplaced},
    {Role::kUnused,     "score.bias",     Dim::kNone,   Dim::kNone,   Storage::kUnused, HeadReplaced},
    // It is left from the language model that became a classifier or an embedder.
    {Role::kUnused,     "lm_head.weight", Dim::kNone,   Dim::kNone,   Storage::kUnused, Not<HasLmHead>},
};

// The names in the tables below follow ModelConfig::base_prefix, and those of layers Naming::layers
// and the layer's number.

/// The norm before feed-forward is called post_attention_layernorm if the layer has no norm behind
/// attention, else pre_feedforward_layernorm.
constexpr Entry kDecoderTable[] = {
    {Role::kEmbedding, "embed_tokens.weight", Dim::kVocabulary, Dim::kHidden, Storage::kInFile, Always},
    {Role::kFinalNorm, "norm.weight",         Dim::kHidden,     Dim::kNone,   Storage::kVector, Always},
    {Role::kLmHead,    "embed_tokens.weight", Dim::kOutput,     Dim::kHidden, Storage::kLmHead, TiedLmHead},
};
constexpr Entry kDecoderLayerTable[] = {
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

constexpr Entry kBertTable[] = {
    {Role::kEmbedding,               "embeddings.word_embeddings.weight",       Dim::kVocabulary, Dim::kEmbedding, Storage::kInFile, Always},
    {Role::kLmHead,                  "embeddings.word_embeddings.weight",       Dim::kOutput,     Dim::kHidden,    Storage::kLmHead, TiedLmHead},
    {Role::kPositionTable,           "embeddings.position_embeddings.weight",   Dim::kPositions,  Dim::kEmbedding, Storage::kInFile, Positions},
    {Role::kTypeTable,               "embeddings.token_type_embeddings.weight", Dim::kTokenTypes, Dim::kEmbedding, Storage::kInFile, TokenTypes},
    {Role::kEmbeddingNorm,           "embeddings.LayerNorm.weight",             Dim::kEmbedding,  Dim::kNone,      Storage::kVector, EmbeddingNorm},
    {Role::kEmbeddingNormBias,       "embeddings.LayerNorm.bias",               Dim::kEmbedding,  Dim::kNone,      Storage::kVector, Both<EmbeddingNorm, NormBias>},
    {Role::kEmbeddingProjection,     "embeddings_project.weight",               Dim::kHidden,     Dim::kEmbedding, Storage::kMatrix, EmbeddingProjection},
    {Role::kEmbeddingProjectionBias, "embeddings_project.bias",                 Dim::kHidden,     Dim::kNone,      Storage::kVector, EmbeddingProjection},
    {Role::kUnused,                  "embeddings.position_ids",                 Dim::kNone,       Dim::kNone,      Storage::kUnused, Always},  // 0, 1, 2 …
    {Role::kUnused,                  "pooler.*",                                Dim::kNone,       Dim::kNone,      Storage::kUnused, Always},
};

constexpr Entry kBertLayerTable[] = {
    {Role::kQuery,                       "attention.self.query.weight",       Dim::kQueryHeads,   Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kQueryBias,                   "attention.self.query.bias",         Dim::kQueryHeads,   Dim::kNone,         Storage::kVector,       QkvBias},
    {Role::kKey,                         "attention.self.key.weight",         Dim::kKvHeads,      Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kKeyBias,                     "attention.self.key.bias",           Dim::kKvHeads,      Dim::kNone,         Storage::kVector,       QkvBias},
    {Role::kValue,                       "attention.self.value.weight",       Dim::kKvHeads,      Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kValueBias,                   "attention.self.value.bias",         Dim::kKvHeads,      Dim::kNone,         Storage::kVector,       QkvBias},
    {Role::kOutput,                      "attention.output.dense.weight",     Dim::kHidden,       Dim::kQueryHeads,   Storage::kLayerProduct, Always},
    {Role::kOutputBias,                  "attention.output.dense.bias",       Dim::kHidden,       Dim::kNone,         Storage::kVector,       OutputBias},
    {Role::kAttentionResidualNorm,       "attention.output.LayerNorm.weight", Dim::kHidden,       Dim::kNone,         Storage::kVector,       ResidualNorms},
    {Role::kAttentionResidualNormBias,   "attention.output.LayerNorm.bias",   Dim::kHidden,       Dim::kNone,         Storage::kVector,       Both<ResidualNorms, NormBias>},
    {Role::kUp,                          "intermediate.dense.weight",         Dim::kIntermediate, Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kUpBias,                      "intermediate.dense.bias",           Dim::kIntermediate, Dim::kNone,         Storage::kVector,       MlpBias},
    {Role::kDown,                        "output.dense.weight",               Dim::kHidden,       Dim::kIntermediate, Storage::kLayerProduct, Always},
    {Role::kDownBias,                    "output.dense.bias",                 Dim::kHidden,       Dim::kNone,         Storage::kVector,       MlpBias},
    {Role::kFeedforwardResidualNorm,     "output.LayerNorm.weight",           Dim::kHidden,       Dim::kNone,         Storage::kVector,       ResidualNorms},
    {Role::kFeedforwardResidualNormBias, "output.LayerNorm.bias",             Dim::kHidden,       Dim::kNone,         Storage::kVector,       Both<ResidualNorms, NormBias>},
};

constexpr Entry kDistilBertLayerTable[] = {
    {Role::kQuery,                       "attention.q_lin.weight",   Dim::kQueryHeads,   Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kQueryBias,                   "attention.q_lin.bias",     Dim::kQueryHeads,   Dim::kNone,         Storage::kVector,       QkvBias},
    {Role::kKey,                         "attention.k_lin.weight",   Dim::kKvHeads,      Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kKeyBias,                     "attention.k_lin.bias",     Dim::kKvHeads,      Dim::kNone,         Storage::kVector,       QkvBias},
    {Role::kValue,                       "attention.v_lin.weight",   Dim::kKvHeads,      Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kValueBias,                   "attention.v_lin.bias",     Dim::kKvHeads,      Dim::kNone,         Storage::kVector,       QkvBias},
    {Role::kOutput,                      "attention.out_lin.weight", Dim::kHidden,       Dim::kQueryHeads,   Storage::kLayerProduct, Always},
    {Role::kOutputBias,                  "attention.out_lin.bias",   Dim::kHidden,       Dim::kNone,         Storage::kVector,       OutputBias},
    {Role::kAttentionResidualNorm,       "sa_layer_norm.weight",     Dim::kHidden,       Dim::kNone,         Storage::kVector,       ResidualNorms},
    {Role::kAttentionResidualNormBias,   "sa_layer_norm.bias",       Dim::kHidden,       Dim::kNone,         Storage::kVector,       Both<ResidualNorms, NormBias>},
    {Role::kUp,                          "ffn.lin1.weight",          Dim::kIntermediate, Dim::kHidden,       Storage::kLayerProduct, Always},
    {Role::kUpBias,                      "ffn.lin1.bias",            Dim::kIntermediate, Dim::kNone,         Storage::kVector,       MlpBias},
    {Role::kDown,                        "ffn.lin2.weight",          Dim::kHidden,       Dim::kIntermediate, Storage::kLayerProduct, Always},
    {Role::kDownBias,                    "ffn.lin2.bias",            Dim::kHidden,       Dim::kNone,         Storage::kVector,       MlpBias},
    {Role::kFeedforwardResidualNorm,     "output_layer_norm.weight", Dim::kHidden,       Dim::kNone,         Storage::kVector,       ResidualNorms},
    {Role::kFeedforwardResidualNormBias, "output_layer_norm.bias",   Dim::kHidden,       Dim::kNone,         Storage::kVector,       Both<ResidualNorms, NormBias>},
};

constexpr Entry kModernBertTable[] = {
    {Role::kEmbedding,         "embeddings.tok_embeddings.weight", Dim::kVocabulary, Dim::kHidden, Storage::kInFile, Always},
    {Role::kLmHead,            "embeddings.tok_embeddings.weight", Dim::kOutput,     Dim::kHidden, Storage::kLmHead, TiedLmHead},
    {Role::kEmbeddingNorm,     "embeddings.norm.weight",           Dim::kHidden,     Dim::kNone,   Storage::kVector, EmbeddingNorm},
    {Role::kEmbeddingNormBias, "embeddings.norm.bias",             Dim::kHidden,     Dim::kNone,   Storage::kVector, Both<EmbeddingNorm, NormBias>},
    {Role::kFinalNorm,         "final_norm.weight",                Dim::kHidden,     Dim::kNone,   Storage::kVector, FinalNorm},
    {Role::kFinalNormBias,     "final_norm.bias",                  Dim::kHidden,     Dim::kNone,   Storage::kVector, Both<FinalNorm, NormBias>},
};

constexpr Entry kModernBertLayerTable[] = {
    {Role::kInputNorm,              "attn_norm.weight", Dim::kHidden,       Dim::kNone,         Storage::kVector,       InputNorm},
    {Role::kInputNormBias,          "attn_norm.bias",   Dim::kHidden,       Dim::kNone,         Storage::kVector,       Both<InputNorm, NormBias>},
    {Role::kQuery,                  "attn.Wqkv.weight", Dim::kQueryHeads,   Dim::kHidden,       Storage::kLayerProduct, Always,  false, kQkvStack, 0},
    {Role::kQueryBias,              "attn.Wqkv.bias",   Dim::kQueryHeads,   Dim::kNone,         Storage::kVector,       QkvBias, false, kQkvStack, 0},
    {Role::kKey,                    "attn.Wqkv.weight", Dim::kKvHeads,      Dim::kHidden,       Storage::kLayerProduct, Always,  false, kQkvStack, 1},
    {Role::kKeyBias,                "attn.Wqkv.bias",   Dim::kKvHeads,      Dim::kNone,         Storage::kVector,       QkvBias, false, kQkvStack, 1},
    {Role::kValue,                  "attn.Wqkv.weight", Dim::kKvHeads,      Dim::kHidden,       Storage::kLayerProduct, Always,  false, kQkvStack, 2},
    {Role::kValueBias,              "attn.Wqkv.bias",   Dim::kKvHeads,      Dim::kNone,         Storage::kVector,       QkvBias, false, kQkvStack, 2},
    {Role::kOutput,                 "attn.Wo.weight",   Dim::kHidden,       Dim::kQueryHeads,   Storage::kLayerProduct, Always},
    {Role::kOutputBias,             "attn.Wo.bias",     Dim::kHidden,       Dim::kNone,         Storage::kVector,       OutputBias},
    {Role::kPreFeedforwardNorm,     "mlp_norm.weight",  Dim::kHidden,       Dim::kNone,         Storage::kVector,       PreFeedforwardNorm},
    {Role::kPreFeedforwardNormBias, "mlp_norm.bias",    Dim::kHidden,       Dim::kNone,         Storage::kVector,       Both<PreFeedforwardNorm, NormBias>},
    {Role::kGate,                   "mlp.Wi.weight",    Dim::kIntermediate, Dim::kHidden,       Storage::kLayerProduct, Always,  false, kGateUpStack, 0},
    {Role::kGateBias,               "mlp.Wi.bias",      Dim::kIntermediate, Dim::kNone,         Storage::kVector,       MlpBias, false, kGateUpStack, 0},
    {Role::kUp,                     "mlp.Wi.weight",    Dim::kIntermediate, Dim::kHidden,       Storage::kLayerProduct, Always,  false, kGateUpStack, 1},
    {Role::kUpBias,                 "mlp.Wi.bias",      Dim::kIntermediate, Dim::kNone,         Storage::kVector,       MlpBias, false, kGateUpStack, 1},
    {Role::kDown,                   "mlp.Wo.weight",    Dim::kHidden,       Dim::kIntermediate, Storage::kLayerProduct, Always},
    {Role::kDownBias,               "mlp.Wo.bias",      Dim::kHidden,       Dim::kNone,         Storage::kVector,       MlpBias},
};

/// Heads for masked tokens and other tasks, which are not read. Their names have no prefix.
constexpr std::string_view kUnreadHeads[] = {
    "cls.*", "lm_head.*", "vocab_layer_norm.*", "vocab_projector.*", "vocab_transform.*",
    "head.*", "decoder.*", "generator_predictions.*", "generator_lm_head.*", "discriminator_predictions.*",
};
// clang-format on

struct Naming {
  std::span<const Entry> model;
  std::string_view layers;
  std::span<const Entry> layer;
  std::span<const std::string_view> unread_heads = {};
};

Naming NamingOf(proto::TensorNaming naming) {
  switch (naming) {
    case proto::TensorNaming::kDecoder:
      break;
    case proto::TensorNaming::kBert:
      return {kBertTable, "encoder.layer.", kBertLayerTable, kUnreadHeads};
    case proto::TensorNaming::kDistilBert:
      return {kBertTable, "transformer.layer.", kDistilBertLayerTable, kUnreadHeads};
    case proto::TensorNaming::kModernBert:
      return {kModernBertTable, "layers.", kModernBertLayerTable, kUnreadHeads};
  }
  return {kDecoderTable, "layers.", kDecoderLayerTable};
}

void Select(std::span<const Entry> table, const std::string& prefix, const ModelConfig& model,
            const LayerConfig& layer, std::vector<TensorSpec>& tensors) {
  for (const Entry& entry : table) {
    if (entry.is_there(model, layer)) {
      tensors.push_back({entry.role, prefix + std::string(entry.name), entry.out, entry.in,
                         entry.storage, entry.is_optional, entry.stack, entry.place});
    }
  }
}

void AddUnused(std::string name, std::vector<TensorSpec>& tensors) {
  tensors.push_back({Role::kUnused, std::move(name), Dim::kNone, Dim::kNone, Storage::kUnused});
}

Range Scaled(Range range, std::int64_t factor) {
  return {range.begin * factor, range.end * factor};
}

}  // namespace

std::vector<TensorSpec> ModelTensors(const ModelConfig& config) {
  const Naming naming = NamingOf(config.tensor_naming);
  std::vector<TensorSpec> tensors;
  Select(naming.model, config.base_prefix, config, {}, tensors);
  Select(kHeadTable, "", config, {}, tensors);
  for (const std::string_view name : naming.unread_heads) {
    AddUnused(std::string(name), tensors);
  }
  return tensors;
}

std::vector<TensorSpec> LayerTensors(const ModelConfig& config, std::int64_t index) {
  const Naming naming = NamingOf(config.tensor_naming);
  std::vector<TensorSpec> tensors;
  Select(naming.layer,
         config.base_prefix + std::string(naming.layers) + std::to_string(index) + ".", config,
         config.layers[static_cast<std::size_t>(index)], tensors);
  return tensors;
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

std::optional<TensorSpec> HeadTensor(const Checkpoint& checkpoint, const ModelConfig& config) {
  const std::vector<TensorSpec> tensors = ModelTensors(config);
  const TensorSpec* own = FindTensor(tensors, Role::kOwnLmHead);
  const bool is_there = own != nullptr && checkpoint.Has(own->name);
  const TensorSpec* head = is_there ? own : FindTensor(tensors, Role::kLmHead);
  return head == nullptr ? std::nullopt : std::optional(*head);
}

std::vector<StepTensor> HeadStepTensors(const ModelConfig& config) {
  return config.read_head ? StepTensors(*config.read_head, PooledValues(config))
                          : std::vector<StepTensor>();
}

std::int64_t PooledValues(const ModelConfig& config) {
  return static_cast<std::int64_t>(config.read_head->pooling.size()) * config.hidden_size;
}

std::int64_t SizeOf(Dim dim, const ModelConfig& config) {
  switch (dim) {
    case Dim::kHidden:
      return config.hidden_size;
    case Dim::kEmbedding:
      return config.embedding_size.value_or(config.hidden_size);
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
    case Dim::kPositions:
      return config.learned_positions ? config.learned_positions->rows : 0;
    case Dim::kTokenTypes:
      return config.type_vocab_size;
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
    case Dim::kEmbedding:
    case Dim::kHeadDim:
    case Dim::kVocabulary:
    case Dim::kPositions:
    case Dim::kTokenTypes:
    case Dim::kNone:
      break;
  }
  return {0, SizeOf(dim, config)};
}

Range StoredRows(const TensorSpec& tensor, Range part, const ModelConfig& config) {
  std::int64_t before = 0;
  for (const Dim dim : tensor.stack.first(tensor.place)) {
    before += SizeOf(dim, config);
  }
  return {before + part.begin, before + part.end};
}

const TensorView& Require(const Checkpoint& checkpoint, const TensorSpec& tensor,
                          const ModelConfig& config) {
  std::vector<std::int64_t> shape = {SizeOf(tensor.out, config)};
  if (!tensor.stack.empty()) {
    shape[0] = 0;
    for (const Dim dim : tensor.stack) {
      shape[0] += SizeOf(dim, config);
    }
  }
  if (tensor.in != Dim::kNone) {
    shape.push_back(SizeOf(tensor.in, config));
  }
  return checkpoint.Require(tensor.name, shape);
}

void CheckTensors(const Checkpoint& checkpoint, const ModelConfig& config) {
  const std::vector<TensorSpec> tensors = AllTensors(config);
  std::set<std::string_view> known;
  std::vector<std::string_view> known_beginnings;
  for (const TensorSpec& tensor : tensors) {
    const std::string_view name = tensor.name;
    if (name.ends_with('*')) {
      known_beginnings.push_back(name.substr(0, name.size() - 1));
    } else {
      known.insert(name);
    }
  }
  const std::vector<StepTensor> of_steps = HeadStepTensors(config);
  for (const StepTensor& tensor : of_steps) {
    known.insert(tensor.name);
  }
  const auto is_known = [&](const std::string& name) {
    return known.contains(name) ||
           std::ranges::any_of(known_beginnings, [&](std::string_view beginning) {
             return name.starts_with(beginning);
           });
  };
  for (const std::string& name : checkpoint.Names()) {
    if (!is_known(name)) {
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
  for (const StepTensor& tensor : of_steps) {
    checkpoint.Require(tensor.name, tensor.shape);
  }
}

}  // namespace scorecast::shard
