#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace scorecast::proto {

/// Whether a projection has a bias: never, or if config.json says so.
enum class Bias { kNone, kAsConfigured };

/// One row per architecture: the values that transformers' configuration class gives to absent
/// fields, and the parts that its model has. Everything else about a family is in config.json.
struct Family {
  std::string_view architecture;
  std::string_view model_type;
  std::optional<std::int64_t> num_key_value_heads;  ///< nullopt: num_attention_heads.
  std::optional<std::int64_t> head_dim;             ///< nullopt: hidden_size / num_attention_heads.
  std::int64_t max_position_embeddings;
  double rms_norm_eps;
  double rope_theta;
  bool tie_word_embeddings;
  Bias qkv_bias;     ///< Field `attention_bias`.
  Bias output_bias;  ///< Field `attention_bias`.
  Bias mlp_bias;     ///< Field `mlp_bias`.
  bool qk_norm;
  /// `sliding_window` applies only if `use_sliding_window` is true, to the layers from
  /// `max_window_layers` on.
  bool window_has_switch;
  std::int64_t max_window_layers;
};

inline constexpr std::array kFamilies = {
    Family{.architecture = "LlamaForCausalLM",
           .model_type = "llama",
           .num_key_value_heads = std::nullopt,
           .head_dim = std::nullopt,
           .max_position_embeddings = 2048,
           .rms_norm_eps = 1e-6,
           .rope_theta = 10000.0,
           .tie_word_embeddings = false,
           .qkv_bias = Bias::kAsConfigured,
           .output_bias = Bias::kAsConfigured,
           .mlp_bias = Bias::kAsConfigured,
           .qk_norm = false,
           .window_has_switch = false,
           .max_window_layers = 0},
    Family{.architecture = "Qwen3ForCausalLM",
           .model_type = "qwen3",
           .num_key_value_heads = 32,
           .head_dim = 128,
           .max_position_embeddings = 32768,
           .rms_norm_eps = 1e-6,
           .rope_theta = 10000.0,
           .tie_word_embeddings = false,
           .qkv_bias = Bias::kAsConfigured,
           .output_bias = Bias::kAsConfigured,
           .mlp_bias = Bias::kNone,
           .qk_norm = true,
           .window_has_switch = true,
           .max_window_layers = 28},
};

/// An option that changes the scores of some models, and of which the transformer supports one
/// setting only. That setting is also the default of an absent field.
struct FixedOption {
  std::string_view name;
  std::string_view accepted;  ///< A JSON list of the values that mean this setting.
};

inline constexpr std::array kFixedOptions = {
    FixedOption{"hidden_act", R"(["silu", "swish"])"},
    FixedOption{"hidden_activation", R"([null, "silu", "swish"])"},
    FixedOption{"pretraining_tp", "[null, 1]"},
    FixedOption{"quantization_config", "[null]"},
    FixedOption{"compression_config", "[null]"},
    FixedOption{"pruned_heads", "[null, {}]"},
    FixedOption{"partial_rotary_factor", "[null, 1]"},
    FixedOption{"attn_logit_softcapping", "[null]"},
    FixedOption{"final_logit_softcapping", "[null]"},
    FixedOption{"query_pre_attn_scalar", "[null]"},
    FixedOption{"attention_multiplier", "[null]"},
    FixedOption{"embedding_multiplier", "[null, 1]"},
    FixedOption{"residual_multiplier", "[null, 1]"},
    FixedOption{"logits_scaling", "[null, 1]"},
    FixedOption{"logit_scale", "[null, 1]"},
    FixedOption{"clip_qkv", "[null]"},
    FixedOption{"alibi", "[null, false]"},
    FixedOption{"attention_chunk_size", "[null]"},
    FixedOption{"no_rope_layers", "[null, []]"},
    FixedOption{"is_causal", "[null, true]"},
    FixedOption{"use_bidirectional_attention", "[null, false]"},
    FixedOption{"is_encoder_decoder", "[null, false]"},
    FixedOption{"add_cross_attention", "[null, false]"},
    FixedOption{"num_experts", "[null, 0]"},
    FixedOption{"num_local_experts", "[null, 0]"},
};

}  // namespace scorecast::proto
