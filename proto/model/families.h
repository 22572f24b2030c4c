#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/model/model_config.h"

namespace scorecast::proto {

/// Says which projections of the attention have biases.
enum class AttentionBias {
  kNone,
  kQkv,           ///< q, k and v, whatever config.json says.
  kAsConfigured,  ///< All four if `attention_bias` is true.
};

/// Says which layers have the sliding window if config.json has no `layer_types`.
enum class WindowLayers {
  kNone,      ///< The family has no windows.
  kAll,       ///< All layers, unless `sliding_window` is null.
  kSwitched,  ///< Layers from `max_window_layers` on, if `use_sliding_window` is true.
  kPeriodic,  ///< All but every `period`-th layer.
};

/// Sliding windows of a family, and the values that count if their fields are absent.
struct WindowRule {
  WindowLayers layers = WindowLayers::kNone;
  std::int64_t sliding_window = 4096;
  std::int64_t max_window_layers = 0;  ///< kSwitched.
  std::int64_t period = 0;             ///< kPeriodic.
  /// If true, `sliding_window_pattern` or `_sliding_window_pattern` has the period.
  bool period_is_a_field = false;
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

/// One row per family: its architectures, the values that transformers' configuration class gives
/// to absent fields, and the parts that its model has. Everything else about a family is in
/// config.json.
struct Family {
  std::string_view model_type;
  std::string_view language_model;  ///< Architecture with an lm-head.
  std::string_view classifier;      ///< Architecture with a classification head.

  std::optional<std::int64_t> num_key_value_heads;  ///< nullopt: num_attention_heads.
  std::optional<std::int64_t> head_dim;             ///< nullopt: hidden_size / num_attention_heads.
  std::int64_t max_position_embeddings;
  double rms_norm_eps = 1e-6;
  bool tie_word_embeddings = false;

  double rope_theta = 10000.0;
  /// If RoPE differs between layers with and without a window: the theta of layers with a window.
  /// rope_theta and `rope_scaling` are then for layers without one.
  std::optional<double> rope_local_theta;
  WindowRule window;

  AttentionBias attention_bias = AttentionBias::kNone;
  bool has_mlp_bias = false;  ///< Has the field `mlp_bias`.
  bool qk_norm = false;
  bool post_norms = false;  ///< Outputs of attention and feed-forward are normalised, too.
  bool norm_weights_plus_one = false;
  bool scaled_embeddings = false;  ///< Embeddings are multiplied by √hidden_size.

  Activation activation = Activation::kSilu;         ///< Used if the field is absent.
  std::string_view activation_field = "hidden_act";  ///< Or "hidden_activation".
  bool hidden_act_gelu_is_tanh = false;              ///< `hidden_act`: "gelu" means kGeluTanh.
  std::optional<double> query_pre_attn_scalar;       ///< nullopt: head_dim, and no such field.
  std::optional<SoftcappingRule> softcapping;        ///< nullopt: no such fields.
};

inline constexpr std::array kFamilies = {
    Family{.model_type = "llama",
           .language_model = "LlamaForCausalLM",
           .classifier = "LlamaForSequenceClassification",
           .max_position_embeddings = 2048,
           .attention_bias = AttentionBias::kAsConfigured,
           .has_mlp_bias = true},
    Family{.model_type = "mistral",
           .language_model = "MistralForCausalLM",
           .classifier = "MistralForSequenceClassification",
           .num_key_value_heads = 8,
           .max_position_embeddings = 131072,
           .window = {.layers = WindowLayers::kAll}},
    Family{.model_type = "qwen2",
           .language_model = "Qwen2ForCausalLM",
           .classifier = "Qwen2ForSequenceClassification",
           .num_key_value_heads = 32,
           .max_position_embeddings = 32768,
           .window = {.layers = WindowLayers::kSwitched, .max_window_layers = 28},
           .attention_bias = AttentionBias::kQkv},
    Family{.model_type = "qwen3",
           .language_model = "Qwen3ForCausalLM",
           .classifier = "Qwen3ForSequenceClassification",
           .num_key_value_heads = 32,
           .head_dim = 128,
           .max_position_embeddings = 32768,
           .window = {.layers = WindowLayers::kSwitched, .max_window_layers = 28},
           .attention_bias = AttentionBias::kAsConfigured,
           .qk_norm = true},
    Family{.model_type = "gemma",
           .language_model = "GemmaForCausalLM",
           .classifier = "GemmaForSequenceClassification",
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
           .num_key_value_heads = 4,
           .head_dim = 256,
           .max_position_embeddings = 8192,
           .tie_word_embeddings = true,
           .window = {.layers = WindowLayers::kPeriodic, .period = 2},
           .attention_bias = AttentionBias::kAsConfigured,
           .post_norms = true,
           .norm_weights_plus_one = true,
           .scaled_embeddings = true,
           .activation = Activation::kGeluTanh,
           .activation_field = "hidden_activation",
           .hidden_act_gelu_is_tanh = true,
           .query_pre_attn_scalar = 256,
           .softcapping = SoftcappingRule{.attention = 50.0, .logits = 30.0}},
    Family{.model_type = "gemma3_text",
           .language_model = "Gemma3ForCausalLM",
           .classifier = "Gemma3TextForSequenceClassification",
           .num_key_value_heads = 4,
           .head_dim = 256,
           .max_position_embeddings = 131072,
           .tie_word_embeddings = true,
           .rope_theta = 1e6,
           .rope_local_theta = 10000.0,
           .window = {.layers = WindowLayers::kPeriodic, .period = 6, .period_is_a_field = true},
           .attention_bias = AttentionBias::kAsConfigured,
           .qk_norm = true,
           .post_norms = true,
           .norm_weights_plus_one = true,
           .scaled_embeddings = true,
           .activation = Activation::kGeluTanh,
           .activation_field = "hidden_activation",
           .hidden_act_gelu_is_tanh = true,
           .query_pre_attn_scalar = 256,
           .softcapping = SoftcappingRule{.caps_attention = false}},
};

}  // namespace scorecast::proto
