#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/model/token_id.h"

namespace scorecast::proto {

/// How the frequencies of rotary position embeddings are scaled. The names are transformers'
/// (modeling_rope_utils.py).
enum class RopeType { kDefault, kLinear, kLlama3, kYarn };

/// Parameters of a table of rotary position embeddings. Fields that a type does not use keep their
/// defaults.
struct RopeConfig {
  RopeType type = RopeType::kDefault;
  double theta = 10000.0;
  double factor = 1.0;                                ///< All types but kDefault.
  std::int64_t original_max_position_embeddings = 0;  ///< llama3, yarn.
  double low_freq_factor = 1.0;                       ///< llama3.
  double high_freq_factor = 4.0;                      ///< llama3.
  double beta_fast = 32.0;                            ///< yarn.
  double beta_slow = 1.0;                             ///< yarn.
  bool truncate = true;           ///< yarn: the ends of the ramp are rounded to whole dimensions.
  double attention_factor = 1.0;  ///< yarn: cosines and sines are multiplied by it.

  bool operator==(const RopeConfig&) const = default;
};

/// The feed-forward's activation.
enum class Activation {
  kSilu,
  kGeluTanh,  ///< GELU in its tanh approximation.
};

/// Options that may differ from layer to layer.
struct LayerConfig {
  std::size_t rope_table = 0;  ///< Index into ModelConfig::rope_tables.
  /// A row at position p sees only positions above p - sliding_window. nullopt: no window.
  std::optional<std::int64_t> sliding_window;
  bool qk_norm = false;  ///< q_norm and k_norm over head_dim, before RoPE.
  /// If true, the attention's output, summed over ranks, is normalised before it is added to the
  /// residual stream.
  bool post_attention_norm = false;
  bool post_feedforward_norm = false;  ///< The same for the feed-forward's output.

  bool operator==(const LayerConfig&) const = default;
};

/// Options that tell the one transformer how to run a family. Names are those of Hugging Face's
/// config.json if it has one.
struct ModelConfig {
  std::string architecture;  ///< e.g. "LlamaForCausalLM"
  std::string model_type;    ///< e.g. "llama"

  std::int64_t hidden_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;

  double rms_norm_eps = 0;
  bool norm_weights_plus_one = false;  ///< RMS norms multiply by 1 + weight, not by the weight.
  Activation hidden_activation = Activation::kSilu;
  double embedding_scale = 1.0;  ///< Embeddings are multiplied by it.
  double query_scale = 0;  ///< Attention scores are q·k times this; 0: times 1 / √head_dim.
  /// Scores s become c·tanh(s / c), before the mask.
  std::optional<double> attn_logit_softcapping;
  std::optional<double> final_logit_softcapping;  ///< The same for the logits of the lm-head.
  std::vector<RopeConfig> rope_tables = {RopeConfig()};
  std::vector<LayerConfig> layers;  ///< [num_hidden_layers]

  bool attention_bias = false;         ///< q_proj, k_proj and v_proj have biases.
  bool attention_output_bias = false;  ///< o_proj has a bias.
  bool mlp_bias = false;               ///< gate_proj, up_proj and down_proj have biases.
  bool tie_word_embeddings = false;    ///< embed_tokens is also the lm-head's weight.

  /// Number of classes of a …ForSequenceClassification, which has a head `score` instead of an
  /// lm-head. 0: a language model.
  std::int64_t num_labels = 0;

  std::string dtype;  ///< As stored: "float32", "float16", "bfloat16"; may be empty.
  std::optional<TokenId> bos_token_id;  ///< From config.json; a tokenizer has its own rule.
  std::vector<TokenId> eos_token_ids;   ///< Tokens that end a completion.

  std::int64_t num_hidden_layers() const { return static_cast<std::int64_t>(layers.size()); }
  std::int64_t num_query_groups() const { return num_attention_heads / num_key_value_heads; }
  bool is_classifier() const { return num_labels > 0; }
  /// Logits of a row: one for each class of a classifier, otherwise one for each token.
  std::int64_t output_size() const { return is_classifier() ? num_labels : vocab_size; }
};

/// Reads the text of a config.json. Throws StartupError, one line that names `origin` and the
/// field, if the text is not JSON, if a field is missing, has a wrong type or is out of range, or
/// if the architecture or an option that changes a score is not supported.
ModelConfig ParseModelConfig(std::string_view json_text, const std::string& origin);

/// Reads `model_dir`/config.json and adds the EOS ids of a generation_config.json beside it. Throws
/// StartupError also if a file is not a regular one or cannot be read.
ModelConfig LoadModelConfig(const std::filesystem::path& model_dir);

}  // namespace scorecast::proto
