#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scorecast::proto {

using TokenId = std::int32_t;

/// What one transformer needs to know to run a family: a table of options, never a copy of the
/// code. Names are those of Hugging Face's config.json.
struct ModelConfig {
  std::string architecture;  ///< e.g. "LlamaForCausalLM"
  std::string model_type;    ///< e.g. "llama"

  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;

  double rms_norm_eps = 0;
  double rope_theta = 10000.0;

  bool attention_bias = false;         ///< q_proj, k_proj and v_proj have biases.
  bool attention_output_bias = false;  ///< o_proj has one.
  bool mlp_bias = false;               ///< gate_proj, up_proj and down_proj have biases.
  bool qk_norm = false;                ///< q_norm and k_norm over head_dim, before RoPE.
  bool tie_word_embeddings = false;    ///< The lm-head is embed_tokens.

  std::string dtype;  ///< As stored: "float32", "float16", "bfloat16"; may be empty.
  std::optional<TokenId> bos_token_id;  ///< As config.json says; tokenizers have their own rule.
  std::vector<TokenId> eos_token_ids;   ///< What ends an answer.

  std::int64_t num_query_groups() const { return num_attention_heads / num_key_value_heads; }
};

/// Reads the text of a config.json. Throws StartupError (one line that names `origin` and the
/// field) where the text is not JSON, a field is missing, of a wrong type or out of range, or the
/// architecture, or an option that changes the result, is not supported. Nothing is ignored that
/// would change a score.
ModelConfig ParseModelConfig(std::string_view json_text, const std::string& origin);

/// The same for `model_dir`/config.json, and for the EOS ids of a generation_config.json beside it,
/// which are added; StartupError too where a file cannot be read.
ModelConfig LoadModelConfig(const std::filesystem::path& model_dir);

}  // namespace scorecast::proto
