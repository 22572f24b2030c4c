#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "proto/model/model_config.h"

namespace scorecast::proto {

/// Says which projections of the attention have biases.
enum class AttentionBias {
  kNone,
  kQkv,           ///< q, k and v, whatever config.json says.
  kAsConfigured,  ///< All four if `attention_bias` is true.
  kAll,           ///< All four, whatever config.json says.
};

/// Says which layers have the sliding window if config.json has no `layer_types`.
enum class WindowLayers {
  kNone,      ///< The family has no windows.
  kAll,       ///< All layers, unless `sliding_window` is null.
  kSwitched,  ///< Layers from `max_window_layers` on, if `use_sliding_window` is true.
  kPeriodic,  ///< All but every `period`-th layer.
  /// All but layer 0 and every `period`-th layer after it.
  kPeriodicFromFirst,
};

/// Sliding windows of a family, and the values that count if their fields are absent.
struct WindowRule {
  WindowLayers layers = WindowLayers::kNone;
  std::int64_t sliding_window = 4096;
  std::int64_t max_window_layers = 0;  ///< kSwitched.
  std::int64_t period = 0;             ///< kPeriodic, kPeriodicFromFirst.
  /// Fields that may have the period.
  std::array<std::string_view, 2> period_fields;
  /// In bidirectional models, the field has the number of positions of both sides: a row sees those
  /// up to half of it away.
  std::string_view field = "sliding_window";
};

/// Soft-capping of attention scores and logits, with the values that count if the fields are
/// absent.
struct SoftcappingRule {
  std::optional<double> attention;
  /// False: transformers has `attn_logit_softcapping` in the family's configuration, but does not
  /// compute with it.
  bool caps_attention = true;
  std::optional<double> logits;
};

/// Names that a family's config.json has for fields of most others.
struct FieldNames {
  std::string_view hidden_size = "hidden_size";
  std::string_view num_hidden_layers = "num_hidden_layers";
  std::string_view num_attention_heads = "num_attention_heads";
  std::string_view intermediate_size = "intermediate_size";
  std::string_view norm_eps = "rms_norm_eps";  ///< Empty: there is no such field.
  std::string_view activation = "hidden_act";
  std::string_view rope_theta = "rope_theta";
  std::string_view rope_local_theta = "rope_local_base_freq";
};

enum class Positions {
  kRotary,
  kLearned,
  kLearnedBehindPadding,  ///< Counted from `pad_token_id` + 1.
};

/// Which rows are normalised.
enum class NormPlaces {
  kBeforeLayers,          ///< The inputs of attention and feed-forward, and the final rows.
  kBeforeLayersButFirst,  ///< As kBeforeLayers, but not the input of the first attention.
  kResidual,              ///< The residual stream behind attention and behind feed-forward.
};

/// The head of an encoder's classifier: dense, an activation, perhaps a LayerNorm, and a product
/// with the classes. Names are those of modules, which have weights and biases.
struct EncoderHead {
  std::string_view dense;
  HeadActivation activation = HeadActivation::kTanh;
  std::string_view norm;  ///< May be empty.
  std::string_view out;
  /// `classifier_pooling`, `classifier_activation` and `classifier_bias` (of `dense`) are fields.
  /// Otherwise the first row goes to the head, and `dense` has a bias.
  bool has_fields = false;
  /// `score`, without a bias, and nothing else: `pooling` (avg, cls or last) and `temperature` are
  /// fields.
  bool is_score = false;
};

/// One row per family: its architectures, the values that transformers' configuration class gives
/// to absent fields, and the parts that its model has. Everything else about a family is in
/// config.json.
struct Family {
  std::string_view model_type;
  std::string_view language_model;  ///< Architecture with an lm-head; empty in encoders.
  std::string_view classifier;      ///< Architecture with a classification head.
  /// Architectures that embed texts: without a head, and with a head that is not read.
  std::string_view base_model;
  std::string_view masked_language_model;

  std::optional<std::int64_t> num_key_value_heads;  ///< nullopt: num_attention_heads.
  std::optional<std::int64_t> head_dim;             ///< nullopt: hidden_size / num_attention_heads.
  std::int64_t max_position_embeddings;
  FieldNames names;
  double norm_eps = 1e-6;
  bool tie_word_embeddings = false;

  double rope_theta = 10000.0;
  /// If RoPE differs between layers with and without a window: the theta of layers with a window.
  /// rope_theta and `rope_scaling` are then for layers without one.
  std::optional<double> rope_local_theta;
  WindowRule window;

  AttentionBias attention_bias = AttentionBias::kNone;
  bool has_mlp_bias = false;  ///< Has the field `mlp_bias`.
  bool mlp_bias = false;      ///< Feed-forward has biases, whatever config.json says.
  bool qk_norm = false;
  bool post_norms = false;  ///< Outputs of attention and feed-forward are normalised, too.
  bool norm_weights_plus_one = false;
  bool scaled_embeddings = false;  ///< Embeddings are multiplied by √hidden_size.

  Activation activation = Activation::kSilu;    ///< Used if the field is absent.
  bool hidden_act_gelu_is_tanh = false;         ///< `hidden_act`: "gelu" means kGeluTanh.
  std::optional<double> query_pre_attn_scalar;  ///< nullopt: head_dim, and no such field.
  std::optional<SoftcappingRule> softcapping;   ///< nullopt: no such fields.

  TensorNaming tensor_naming = TensorNaming::kDecoder;
  std::string_view base_prefix = "model.";

  bool bidirectional = false;
  bool bidirectional_field = false;  ///< `use_bidirectional_attention` says it.
  bool has_code = false;  ///< Its directories come with code (`auto_map`), which is not needed.

  // Encoders.
  NormKind norm = NormKind::kRms;
  bool norm_bias = false;        ///< LayerNorms have biases.
  bool norm_bias_field = false;  ///< `norm_bias` says it.
  NormPlaces norm_places = NormPlaces::kBeforeLayers;
  bool embedding_norm = false;
  /// The field `embedding_size` if it is absent; nullopt: no such field.
  std::optional<std::int64_t> embedding_size;
  bool gated_feedforward = true;
  Positions positions = Positions::kRotary;
  TokenId pad_token_id = 0;                     ///< Positions::kLearnedBehindPadding.
  std::optional<std::int64_t> type_vocab_size;  ///< nullopt: no token types.
  EncoderHead head;
};

/// What the families with BERT's layers have in common.
inline constexpr Family kBertLike{
    .max_position_embeddings = 512,
    .names = {.norm_eps = "layer_norm_eps"},
    .norm_eps = 1e-12,
    .attention_bias = AttentionBias::kAll,
    .mlp_bias = true,
    .activation = Activation::kGelu,
    .tensor_naming = TensorNaming::kBert,
    .bidirectional = true,
    .norm = NormKind::kLayer,
    .norm_bias = true,
    .norm_places = NormPlaces::kResidual,
    .embedding_norm = true,
    .gated_feedforward = false,
    .positions = Positions::kLearned,
    .type_vocab_size = 2,
};

/// RoBERTa under one of its names.
constexpr Family RobertaLike(std::string_view model_type, std::string_view classifier,
                             std::string_view base_model, std::string_view masked) {
  Family family = kBertLike;
  family.model_type = model_type;
  family.classifier = classifier;
  family.base_model = base_model;
  family.masked_language_model = masked;
  family.base_prefix = "roberta.";
  family.positions = Positions::kLearnedBehindPadding;
  family.pad_token_id = 1;
  family.head = {.dense = "classifier.dense", .norm = "", .out = "classifier.out_proj"};
  return family;
}

constexpr Family Bert() {
  Family family = kBertLike;
  family.model_type = "bert";
  family.classifier = "BertForSequenceClassification";
  family.base_model = "BertModel";
  family.masked_language_model = "BertForMaskedLM";
  family.base_prefix = "bert.";
  family.head = {.dense = "bert.pooler.dense", .norm = "", .out = "classifier"};
  return family;
}

constexpr Family DistilBert() {
  Family family = kBertLike;
  family.model_type = "distilbert";
  family.classifier = "DistilBertForSequenceClassification";
  family.base_model = "DistilBertModel";
  family.masked_language_model = "DistilBertForMaskedLM";
  family.base_prefix = "distilbert.";
  family.tensor_naming = TensorNaming::kDistilBert;
  family.names = {.hidden_size = "dim",
                  .num_hidden_layers = "n_layers",
                  .num_attention_heads = "n_heads",
                  .intermediate_size = "hidden_dim",
                  .norm_eps = "",
                  .activation = "activation"};
  std::construct_at(&family.type_vocab_size);  // Clang copies no constant that was reset().
  family.head = {.dense = "pre_classifier",
                 .activation = HeadActivation::kRelu,
                 .norm = "",
                 .out = "classifier"};
  return family;
}

constexpr Family Electra() {
  Family family = kBertLike;
  family.model_type = "electra";
  family.classifier = "ElectraForSequenceClassification";
  family.base_model = "ElectraModel";
  family.masked_language_model = "ElectraForMaskedLM";
  family.base_prefix = "electra.";
  family.embedding_size = 128;
  family.head = {.dense = "classifier.dense",
                 .activation = HeadActivation::kGelu,
                 .norm = "",
                 .out = "classifier.out_proj"};
  return family;
}

inline constexpr std::array kFamilies = {
    Family{.model_type = "llama",
           .language_model = "LlamaForCausalLM",
           .classifier = "LlamaForSequenceClassification",
           .base_model = "LlamaModel",
           .max_position_embeddings = 2048,
           .attention_bias = AttentionBias::kAsConfigured,
           .has_mlp_bias = true},
    Family{.model_type = "mistral",
           .language_model = "MistralForCausalLM",
           .classifier = "MistralForSequenceClassification",
           .base_model = "MistralModel",
           .num_key_value_heads = 8,
           .max_position_embeddings = 131072,
           .window = {.layers = WindowLayers::kAll}},
    Family{.model_type = "qwen2",
           .language_model = "Qwen2ForCausalLM",
           .classifier = "Qwen2ForSequenceClassification",
           .base_model = "Qwen2Model",
           .num_key_value_heads = 32,
           .max_position_embeddings = 32768,
           .window = {.layers = WindowLayers::kSwitched, .max_window_layers = 28},
           .attention_bias = AttentionBias::kQkv},
    Family{.model_type = "qwen3",
           .language_model = "Qwen3ForCausalLM",
           .classifier = "Qwen3ForSequenceClassification",
           .base_model = "Qwen3Model",
           .num_key_value_heads = 32,
           .head_dim = 128,
           .max_position_embeddings = 32768,
           .window = {.layers = WindowLayers::kSwitched, .max_window_layers = 28},
           .attention_bias = AttentionBias::kAsConfigured,
           .qk_norm = true},
    Family{.model_type = "gemma",
           .language_model = "GemmaForCausalLM",
           .classifier = "GemmaForSequenceClassification",
           .base_model = "GemmaModel",
           .num_key_value_heads = 16,
           .head_dim = 256,
           .max_position_embeddings = 8192,
           .tie_word_embeddings = true,
           .attention_bias = AttentionBias::kAsConfigured,
           .norm_weights_plus_one = true,
           .scaled_embeddings = true,
           .activation = Activation::kGeluTanh,
           .hidden_act_gelu_is_tanh = true},
    Family{.model_type = "gemma2",
           .language_model = "Gemma2ForCausalLM",
           .classifier = "Gemma2ForSequenceClassification",
           .base_model = "Gemma2Model",
           .num_key_value_heads = 4,
           .head_dim = 256,
           .max_position_embeddings = 8192,
           .names = {.activation = "hidden_activation"},
           .tie_word_embeddings = true,
           .window = {.layers = WindowLayers::kPeriodic, .period = 2},
           .attention_bias = AttentionBias::kAsConfigured,
           .post_norms = true,
           .norm_weights_plus_one = true,
           .scaled_embeddings = true,
           .activation = Activation::kGeluTanh,
           .hidden_act_gelu_is_tanh = true,
           .query_pre_attn_scalar = 256,
           .softcapping = SoftcappingRule{.attention = 50.0, .logits = 30.0}},
    Family{.model_type = "gemma3_text",
           .language_model = "Gemma3ForCausalLM",
           .classifier = "Gemma3TextForSequenceClassification",
           .base_model = "Gemma3TextModel",
           .num_key_value_heads = 4,
           .head_dim = 256,
           .max_position_embeddings = 131072,
           .names = {.activation = "hidden_activation"},
           .tie_word_embeddings = true,
           .rope_theta = 1e6,
           .rope_local_theta = 10000.0,
           .window = {.layers = WindowLayers::kPeriodic,
                      .period = 6,
                      .period_fields = {"sliding_window_pattern", "_sliding_window_pattern"}},
           .attention_bias = AttentionBias::kAsConfigured,
           .qk_norm = true,
           .post_norms = true,
           .norm_weights_plus_one = true,
           .scaled_embeddings = true,
           .activation = Activation::kGeluTanh,
           .hidden_act_gelu_is_tanh = true,
           .query_pre_attn_scalar = 256,
           .softcapping = SoftcappingRule{.caps_attention = false},
           .bidirectional_field = true},
    Family{.model_type = "llama_bidirec",
           .classifier = "LlamaBidirectionalForSequenceClassification",
           .base_model = "LlamaBidirectionalModel",
           .max_position_embeddings = 2048,
           .attention_bias = AttentionBias::kAsConfigured,
           .has_mlp_bias = true,
           .bidirectional = true,
           .has_code = true,
           .head = {.is_score = true}},
    Bert(),
    RobertaLike("roberta", "RobertaForSequenceClassification", "RobertaModel",
                "RobertaForMaskedLM"),
    RobertaLike("xlm-roberta", "XLMRobertaForSequenceClassification", "XLMRobertaModel",
                "XLMRobertaForMaskedLM"),
    RobertaLike("camembert", "CamembertForSequenceClassification", "CamembertModel",
                "CamembertForMaskedLM"),
    DistilBert(),
    Electra(),
    Family{.model_type = "modernbert",
           .classifier = "ModernBertForSequenceClassification",
           .base_model = "ModernBertModel",
           .masked_language_model = "ModernBertForMaskedLM",
           .max_position_embeddings = 8192,
           .names = {.norm_eps = "norm_eps",
                     .activation = "hidden_activation",
                     .rope_theta = "global_rope_theta",
                     .rope_local_theta = "local_rope_theta"},
           .norm_eps = 1e-5,
           .rope_theta = 160000.0,
           .rope_local_theta = 10000.0,
           .window = {.layers = WindowLayers::kPeriodicFromFirst,
                      .sliding_window = 128,
                      .period = 3,
                      .period_fields = {"global_attn_every_n_layers"},
                      .field = "local_attention"},
           .attention_bias = AttentionBias::kAsConfigured,
           .has_mlp_bias = true,
           .activation = Activation::kGelu,
           .tensor_naming = TensorNaming::kModernBert,
           .bidirectional = true,
           .norm = NormKind::kLayer,
           .norm_bias_field = true,
           .norm_places = NormPlaces::kBeforeLayersButFirst,
           .embedding_norm = true,
           .head = {.dense = "head.dense",
                    .activation = HeadActivation::kGelu,
                    .norm = "head.norm",
                    .out = "classifier",
                    .has_fields = true}},
};

}  // namespace scorecast::proto
