#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/readout/head_steps.h"

namespace scorecast::shard {

/// The part that a tensor of a checkpoint plays in the model.
enum class TensorRole : std::uint8_t {
  // Tensors outside of the layers.
  kEmbedding,
  kPositionTable,
  kTypeTable,
  kEmbeddingNorm,
  kEmbeddingNormBias,
  kEmbeddingProjection,
  kEmbeddingProjectionBias,
  kFinalNorm,
  kFinalNormBias,
  kLmHead,  ///< The lm-head, or the head of a classifier.
  /// An lm-head that the checkpoint has although config.json ties the head to the embedding.
  kOwnLmHead,
  kLmHeadBias,
  // Tensors of a layer.
  kInputNorm,
  kInputNormBias,
  kQuery,
  kKey,
  kValue,
  kQueryBias,
  kKeyBias,
  kValueBias,
  kQueryNorm,
  kKeyNorm,
  kOutput,
  kOutputBias,
  kPostAttentionNorm,
  kAttentionResidualNorm,
  kAttentionResidualNormBias,
  kPreFeedforwardNorm,
  kPreFeedforwardNormBias,
  kGate,
  kUp,
  kGateBias,
  kUpBias,
  kDown,
  kDownBias,
  kPostFeedforwardNorm,
  kFeedforwardResidualNorm,
  kFeedforwardResidualNormBias,
  // May be a tensor of a layer or not. It may be present, but nothing is computed with it.
  kUnused,
};

/// A dimension of a tensor. A rank holds all of it, or only a part if the dimension is split over
/// the ranks.
enum class Dim : std::uint8_t {
  kHidden,        ///< hidden_size; not split.
  kEmbedding,     ///< embedding_size, or hidden_size if there is none; not split.
  kHeadDim,       ///< head_dim; not split.
  kQueryHeads,    ///< num_attention_heads · head_dim; split by heads.
  kKvHeads,       ///< num_key_value_heads · head_dim; split by heads.
  kIntermediate,  ///< intermediate_size; split.
  kVocabulary,    ///< vocab_size; not split.
  kPositions,     ///< LearnedPositions::rows; not split.
  kTokenTypes,    ///< type_vocab_size; not split.
  kOutput,        ///< ModelConfig::output_size(); split.
  kNone,          ///< No dimension: the second one of a vector.
};

/// How a rank holds its part of a tensor.
enum class Storage : std::uint8_t {
  kLayerProduct,  ///< Packed for products, in the precision of the layers.
  kLmHead,        ///< Packed for products, in the precision of the lm-head.
  kVector,        ///< As float32.
  kMatrix,        ///< As float32, row by row.
  kInFile,        ///< Not held: rows are read from the file when they are needed.
  kUnused,        ///< Not held.
};

/// One tensor of a checkpoint. It must be there unless it is unused or optional.
struct TensorSpec {
  TensorRole role;
  std::string name;  ///< Hugging Face's, e.g. "model.layers.0.mlp.up_proj.weight".
  Dim out;           ///< The first dimension.
  Dim in;            ///< The second dimension; kNone for a vector.
  Storage storage;
  bool is_optional = false;  ///< The checkpoint decides whether the model has it.
  /// The first dimensions of all weights that stand one below the other in the tensor; empty if it
  /// is the only one. `place` is its number among them.
  std::span<const Dim> stack = {};
  std::size_t place = 0;

  bool is_required() const { return !is_optional && storage != Storage::kUnused; }
};

/// The tensors outside of the layers. The name of an unused tensor may end with "*", which stands
/// for any text. A tied lm-head has the name of the embedding, unless the
/// checkpoint has an lm-head of its own. A classifier has a head `score` instead of an lm-head.
std::vector<TensorSpec> ModelTensors(const proto::ModelConfig& config);
/// The tensors of one layer.
std::vector<TensorSpec> LayerTensors(const proto::ModelConfig& config, std::int64_t index);
/// The tensors of both lists above, for all layers. Loading, the check of a checkpoint, the memory
/// estimate and the number of parameters follow from these lists.
std::vector<TensorSpec> AllTensors(const proto::ModelConfig& config);

/// The tensors of the steps of a ReadHead, which AllTensors does not contain. Rank 0 alone holds
/// them, as float32.
std::vector<StepTensor> HeadStepTensors(const proto::ModelConfig& config);
/// Numbers that a ReadHead pools of a text.
std::int64_t PooledValues(const proto::ModelConfig& config);

/// The tensor that has a role; null if the list has none.
const TensorSpec* FindTensor(std::span<const TensorSpec> tensors, TensorRole role);

/// The tensor of the head, unless the model has a ReadHead. As in transformers, an lm-head that the
/// checkpoint has is used even if config.json ties it: it may differ from the embedding.
std::optional<TensorSpec> HeadTensor(const Checkpoint& checkpoint,
                                     const proto::ModelConfig& config);

/// The whole dimension. kNone has one element.
std::int64_t SizeOf(Dim dim, const proto::ModelConfig& config);
/// The range of the dimension that a rank holds.
proto::Range PartOf(Dim dim, const proto::ModelConfig& config, const proto::Partition& partition);

/// The rows of the stored tensor in which rows `part` of this weight are.
proto::Range StoredRows(const TensorSpec& tensor, proto::Range part,
                        const proto::ModelConfig& config);

/// The stored tensor. Throws StartupError if it is missing or has another shape.
const TensorView& Require(const Checkpoint& checkpoint, const TensorSpec& tensor,
                          const proto::ModelConfig& config);

/// Throws StartupError if a tensor of the model is missing or has another shape, or if the
/// checkpoint has a tensor that the model does not have (a bias, one more layer), because scores
/// computed without it would be wrong.
void CheckTensors(const Checkpoint& checkpoint, const proto::ModelConfig& config);

}  // namespace scorecast::shard
