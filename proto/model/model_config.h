#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/model/ignored_key.h"
#include "proto/model/read_head.h"
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
  kGelu,      ///< GELU by the error function.
  kGeluTanh,  ///< GELU in its tanh approximation.
  kRelu,
};

enum class NormKind {
  kRms,
  kLayer,  ///< LayerNorm: the mean is subtracted first.
};

/// How a checkpoint names its tensors, and which of them stand together in one tensor.
enum class TensorNaming { kDecoder, kBert, kDistilBert, kModernBert };

/// A table of learned positions.
struct LearnedPositions {
  std::int64_t rows = 0;  ///< Rows of the table.
  /// If there is one, positions are counted from padding + 1 on. A row whose token is `padding`
  /// has the position `padding`, and does not count.
  std::optional<TokenId> padding;

  bool operator==(const LearnedPositions&) const = default;
};

/// What the logits of a classifier's classes mean.
enum class ProblemType {
  kRegression,   ///< A logit is the value itself.
  kSingleLabel,  ///< A text has exactly one of the classes.
  kMultiLabel,   ///< A text has any of the classes, each by itself.
};

/// Options that may differ from layer to layer.
struct LayerConfig {
  std::size_t rope_table = 0;  ///< Index into ModelConfig::rope_tables.
  /// A row at position p sees only positions above p - sliding_window and, in a bidirectional
  /// model, below p + sliding_window. nullopt: no window.
  std::optional<std::int64_t> sliding_window;
  bool qk_norm = false;  ///< q_norm and k_norm over head_dim, before RoPE.
  /// If true, the attention's output, summed over ranks, is normalised before it is added to the
  /// residual stream.
  bool post_attention_norm = false;
  bool post_feedforward_norm = false;  ///< The same for the feed-forward's output.
  bool input_norm = true;              ///< Attention gets normalised rows.
  bool pre_feedforward_norm = true;    ///< Feed-forward gets normalised rows.
  /// If true, the residual stream itself is normalised after attention's output was added, and
  /// again after feed-forward's output was added.
  bool residual_norms = false;

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
  /// The largest number of tokens of a text. Positions that no text can use do not count.
  std::int64_t max_position_embeddings = 0;

  NormKind norm =
      NormKind::kRms;  ///< Of all norms but those of LayerConfig::qk_norm, which are RMS.
  double norm_eps = 0;
  bool norm_bias = false;              ///< LayerNorms have biases.
  bool norm_weights_plus_one = false;  ///< Norms multiply by 1 + weight, not by the weight.
  bool embedding_norm = false;         ///< Embeddings are normalised.
  /// If set, embeddings have this many values, and a product behind their norm makes hidden_size of
  /// them.
  std::optional<std::int64_t> embedding_size;
  bool final_norm = true;  ///< Rows are normalised behind the last layer.
  Activation hidden_activation = Activation::kSilu;
  double embedding_scale = 1.0;  ///< Embeddings are multiplied by it.
  double query_scale = 0;  ///< Attention scores are q·k times this; 0: times 1 / √head_dim.
  /// Scores s become c·tanh(s / c), before the mask.
  std::optional<double> attn_logit_softcapping;
  std::optional<double> final_logit_softcapping;  ///< The same for the logits of the lm-head.
  std::vector<RopeConfig> rope_tables = {RopeConfig()};  ///< Empty: no rotary positions.
  std::optional<LearnedPositions> learned_positions;     ///< Added to the embeddings.
  std::int64_t type_vocab_size = 0;  ///< Rows of the table of token types; 0: there is none.
  /// A row sees every row of its own segment, not only those up to itself.
  bool bidirectional = false;
  bool gated_feedforward = true;    ///< activation(gate) · up; otherwise activation(up).
  std::vector<LayerConfig> layers;  ///< [num_hidden_layers]

  TensorNaming tensor_naming = TensorNaming::kDecoder;
  /// Names of all tensors but those of heads begin with it. Checkpoints of base models lack it.
  std::string base_prefix = "model.";

  bool attention_bias = false;         ///< q_proj, k_proj and v_proj have biases.
  bool attention_output_bias = false;  ///< o_proj has a bias.
  bool mlp_bias = false;               ///< The products of feed-forward have biases.
  bool tie_word_embeddings = false;    ///< embed_tokens is also the lm-head's weight.

  /// Number of classes of a …ForSequenceClassification, or of scores that the modules of a
  /// CrossEncoder make. 0: a language model or an embedder.
  std::int64_t num_labels = 0;
  std::optional<ProblemType> problem_type;  ///< Of a classifier; nullopt if the file has none.
  /// What is computed from the rows of a text: class logits if there are labels, else an embedding.
  /// nullopt: the logits of an lm-head, or of a classifier's `score`, for each row that is read.
  std::optional<ReadHead> read_head;

  std::string dtype;  ///< As stored: "float32", "float16", "bfloat16"; may be empty.
  std::optional<TokenId> bos_token_id;  ///< From config.json; a tokenizer has its own rule.
  std::vector<TokenId> eos_token_ids;   ///< Tokens that end a completion.

  std::int64_t num_hidden_layers() const { return static_cast<std::int64_t>(layers.size()); }
  std::int64_t num_query_groups() const { return num_attention_heads / num_key_value_heads; }
  bool is_classifier() const { return num_labels > 0; }
  bool is_embedder() const { return read_head.has_value() && num_labels == 0; }
  /// Values that are computed of a read: one for each class of a classifier, the size of an
  /// embedder's vectors, otherwise one for each token.
  std::int64_t output_size() const {
    return is_classifier() ? num_labels : is_embedder() ? read_head->output_size : vocab_size;
  }
};

/// Reads the text of a config.json. Throws StartupError, one line that names `origin` and the
/// field, if the text is not JSON, if a field is missing, has a wrong type or is out of range, or
/// if the architecture or an option that changes a score is not supported. The refusals of
/// `ignored` keys are left out.
ModelConfig ParseModelConfig(std::string_view json_text, const std::string& origin,
                             std::span<const IgnoredKey> ignored = {});

/// What a model is used for.
enum class Task {
  /// What its directory says: if modules.json has a Pooling module, a classifier if the modules are
  /// a
  /// CrossEncoder's, else an embedder.
  kOfDirectory,
  kEmbed,
  kClassify,
  kGenerate,  ///< The logits of an lm-head.
};

/// The spellings of --task, in the order of Task: "auto", "embed", "classify", "generate".
inline constexpr std::array<std::string_view, 4> kTaskNames = {"auto", "embed", "classify",
                                                               "generate"};

/// Reads `model_dir`/config.json, adds the EOS ids of a generation_config.json beside it, and reads
/// the modules of sentence-transformers. Throws StartupError also if a file is not a regular one or
/// cannot be read, if a module is not supported, if the model cannot be used for the task, and as
/// CheckModelKeys does.
ModelConfig LoadModelConfig(const std::filesystem::path& model_dir, Task task = Task::kOfDirectory,
                            std::span<const IgnoredKey> ignored = {});

}  // namespace scorecast::proto
