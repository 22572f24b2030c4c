#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"
#include "shard/attention/row_map.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/checkpoint/tensor_view.h"
#include "shard/model/norm.h"

namespace scorecast::shard {

/// What a row is before the first layer: the embedding of its token, times a factor, or plus those
/// of its type and its position; perhaps normalised; perhaps multiplied by a matrix that makes
/// hidden_size values of it. The tables stay in the checkpoint's files, from which passes read
/// rows.
class Embedding {
 public:
  /// `checkpoint` and `kernels` must outlive this object. Passes keep `limits`.
  Embedding(const proto::ModelConfig& config, const Checkpoint& checkpoint, const Kernels& kernels,
            const proto::PlanLimits& limits);

  /// Makes the object ready for the rows of a pass. The arguments must outlive the pass. If the
  /// pass is a step of a text (proto::PlanStep), the rows before it were embedded by earlier steps.
  void Begin(const proto::ForwardPlan& plan, const RowMap& rows);

  /// Computes row `row` of the pass, [hidden_size]. Several threads may call it at a time, each
  /// with a `scratch` [hidden_size] of its own.
  void Embed(std::int64_t row, float* scratch, float* hidden) const;

  /// The files of the tables.
  std::vector<const WeightFile*> Files() const;

 private:
  /// What the matrix behind the norm multiplies by and adds. In float32 whatever the precision of
  /// the layers, like the rest of a row.
  struct Projection {
    std::vector<float> weight;  // [hidden_size, embedding_size]
    std::vector<float> bias;    // [hidden_size]
  };
  static std::optional<Projection> LoadProjection(const Checkpoint& checkpoint,
                                                  const proto::ModelConfig& config);
  void AddRow(const TensorView& table, std::int64_t row, float* embedding) const;

  const proto::ModelConfig& config_;
  const Kernels& kernels_;
  const TensorView& tokens_;     // [vocab_size, size_]
  const TensorView* positions_;  // [LearnedPositions::rows, size_]; null if there is no such table.
  const TensorView* types_;      // [type_vocab_size, size_]; null if there is no such table.
  const std::int64_t size_;      // Values of an embedding; at most hidden_size.
  const Norm norm_;
  const std::optional<Projection> projection_;
  const proto::ForwardPlan* plan_ = nullptr;
  std::vector<std::int32_t> learned_positions_;  // [rows]: rows of the table of positions.
  // [pages of PlanLimits::text_rows]: of each text that is computed in steps and begins at this
  // page, the row of the table of positions for its next row.
  std::vector<std::int32_t> next_in_text_;
};

}  // namespace scorecast::shard
