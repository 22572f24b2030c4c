#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/token_id.h"
#include "proto/plan/packed_sequence.h"
#include "tests/reference/checkpoint_reader.h"
#include "tests/reference/rope.h"
#include "tests/reference/rounding.h"

namespace scorecast::reference {

/// The oracle: a transformer in plain loops over doubles, with a dense mask. It is
/// slow, meant to be read from top to bottom, and shares no code with what it judges.
///
/// With a rounding, it is a plain implementation of that precision, from which tests learn how
/// large an error is inherent to it. Factors of the layers' products are rounded row by row; for
/// int8, the norms' weights are first multiplied into the columns that they scale. Queries, keys,
/// values, attention weights and the lm-head's factors are rounded to the same precision, but to
/// bfloat16 for int8. Everything else stays double, also the product with a classifier's head.
class ReferenceModel {
 public:
  /// Reads a Hugging Face model directory. Throws std::runtime_error if a tensor is missing, has
  /// another shape, or would not be used.
  explicit ReferenceModel(const std::filesystem::path& model_dir, Rounding rounding = {});
  /// Takes a configuration, which need not be one that a config.json can express.
  ReferenceModel(const std::filesystem::path& model_dir, proto::ModelConfig config,
                 Rounding rounding = {});

  const proto::ModelConfig& config() const { return config_; }

  using Rows = std::vector<std::vector<double>>;

  /// Logits of the given rows of one packed sequence: [rows][vocab_size] or, of a classifier,
  /// [rows][num_labels]. `types` are the tokens' types, all 0 if it is empty.
  Rows Logits(std::span<const proto::TokenId> tokens, std::span<const proto::Segment> segments,
              std::span<const std::int32_t> rows, const proto::BlockWeighting& weighting = {},
              std::span<const std::uint8_t> types = {}) const;

  /// The same rows behind the final norm, before any head: [rows][hidden_size].
  Rows FinalRows(std::span<const proto::TokenId> tokens, std::span<const proto::Segment> segments,
                 std::span<const std::int32_t> rows, const proto::BlockWeighting& weighting = {},
                 std::span<const std::uint8_t> types = {}) const;

  /// What the ModelConfig::read_head makes of a text: [output_size].
  std::vector<double> TextResult(std::span<const proto::TokenId> tokens,
                                 std::span<const std::uint8_t> types = {}) const;

 private:
  /// y = W x + b; `bias` is empty if there is none.
  struct Linear {
    std::vector<double> weight;  // [out][in]
    std::vector<double> bias;    // [out]
    std::int64_t out = 0;
    std::int64_t in = 0;
  };

  /// `weight` is empty if there is no such norm, and `bias` if it has none.
  struct Norm {
    std::vector<double> weight;
    std::vector<double> bias;
  };

  struct Layer {
    Norm input_layernorm;            // [hidden_size]
    Linear q_proj;                   // [heads * head_dim][hidden_size]
    Linear k_proj;                   // [kv_heads * head_dim][hidden_size]
    Linear v_proj;                   // [kv_heads * head_dim][hidden_size]
    std::vector<double> q_norm;      // [head_dim], or empty
    std::vector<double> k_norm;      // [head_dim], or empty
    Linear o_proj;                   // [hidden_size][heads * head_dim]
    Norm post_attention_norm;        // [hidden_size]
    Norm attention_residual_norm;    // [hidden_size]
    Norm pre_feedforward_norm;       // [hidden_size]
    Linear gate_proj;                // [intermediate_size][hidden_size], or empty
    Linear up_proj;                  // [intermediate_size][hidden_size]
    Linear down_proj;                // [hidden_size][intermediate_size]
    Norm post_feedforward_norm;      // [hidden_size]
    Norm feedforward_residual_norm;  // [hidden_size]
    proto::LayerConfig options;
  };

  using Tensors = std::map<std::string, Tensor>;

  /// The multipliers of a norm: its tensor `weight`, plus one if the family adds that.
  std::vector<double> NormWeights(std::vector<double> weight) const;
  /// Takes the embeddings and the norms outside of the layers, of a decoder or of an encoder.
  void TakeDecoder(Tensors& tensors);
  void TakeEncoder(Tensors& tensors);
  void RoundWeights();
  /// Rounds to bfloat16, unless this model is exact.
  void RoundFactors(Rows& rows) const;
  Layer TakeLayer(Tensors& tensors, std::int64_t index) const;
  /// The layer at `prefix`, with BERT's or DistilBERT's names, or with ModernBERT's.
  Layer TakeBertLayer(Tensors& tensors, const std::string& prefix) const;
  Layer TakeModernBertLayer(Tensors& tensors, const std::string& prefix) const;
  Norm TakeNorm(Tensors& tensors, const std::string& name) const;
  Linear TakeLinear(Tensors& tensors, const std::string& name, std::int64_t out, std::int64_t in,
                    bool bias) const;
  /// The lm-head, or the head of a classifier.
  Linear TakeHead(Tensors& tensors) const;
  /// The steps of the ReadHead.
  void TakeSteps(Tensors& tensors);
  /// Which rows see which, and the kind of each row.
  struct Mask {
    std::vector<std::vector<bool>> sees;    // [rows][rows]
    std::vector<proto::SegmentKind> kinds;  // [rows]
    proto::BlockWeighting weighting;

    /// Whether the row weighs its keys in blocks separately from the others.
    bool IsWeighed(std::size_t row) const {
      return kinds[row] == proto::SegmentKind::kSuffix && !weighting.is_plain();
    }
  };
  /// The weights [rows] of the values for one row, from its scores, which are -infinity for keys
  /// that it does not see: the softmax or, if blocks are weighed separately, the weights of APE.
  std::vector<double> AttentionWeights(const std::vector<double>& score, std::size_t row,
                                       const Mask& mask) const;
  /// The rows before the first layer.
  Rows Embedded(std::span<const proto::TokenId> tokens, std::span<const proto::Segment> segments,
                std::span<const std::uint8_t> types) const;
  Rows Attention(const Layer& layer, const Rows& x, std::span<const std::int32_t> positions,
                 const Mask& mask) const;
  double Activated(double x) const;
  Rows Mlp(const Layer& layer, const Rows& x) const;
  /// Computes x / rms(x) * weight in place, [n].
  void RmsNorm(std::span<double> x, const std::vector<double>& weight) const;
  static void LayerNorm(std::span<double> x, const Norm& norm, double eps);
  /// x itself if there is no such norm.
  Rows Normed(Rows x, const Norm& norm) const;
  static std::vector<double> Apply(const Linear& linear, const std::vector<double>& x);
  /// Rounds x to the precision of the layers' products.
  Rows Apply(const Linear& linear, Rows x) const;

  const proto::ModelConfig config_;
  Rounding rounding_;
  std::vector<Rope> ropes_;
  Linear embed_tokens_;  // [vocab_size][hidden_size]
  std::vector<Layer> layers_;
  Norm norm_;                        // [hidden_size]
  Linear head_;                      // [vocab_size or num_labels][hidden_size], or empty
  std::vector<double> positions_;    // [LearnedPositions::rows][hidden_size], or empty
  std::vector<double> token_types_;  // [type_vocab_size][hidden_size], or empty
  Norm embedding_norm_;              // [embedding_size or hidden_size]
  Linear embeddings_project_;        // [hidden_size][embedding_size], or empty
  std::map<std::string, std::vector<double>> step_tensors_;  // Of the ReadHead.
};

}  // namespace scorecast::reference
