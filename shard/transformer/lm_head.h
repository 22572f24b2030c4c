#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/linear.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"
#include "shard/transformer/answer.h"
#include "shard/transformer/layer.h"

namespace scorecast::shard {

/// This rank's vocabulary slice of the lm-head. It sees only rows that are read, and of those gives
/// only what the answer needs.
class LmHead {
 public:
  /// Rows that are given logits at once, which bounds their memory.
  static constexpr std::int64_t kRowsAtOnce = 64;
  /// Columns of a row that are searched by one task: fixed, and merged in their order, so that the
  /// threads do not show in the bits.
  static constexpr std::int64_t kColumnsAtOnce = 8192;

  /// `weight`: [vocab_size, hidden_size], mapped for as long as this object lives.
  LmHead(const Kernels& kernels, const Packing& packing, const TensorView& weight,
         proto::Range vocabulary);

  /// This rank's answer (see answer.h) from normalised rows [rows read, hidden_size]; `row_of`
  /// [reads] says which of them each of the plan's reads is of.
  std::vector<std::byte> Answer(const proto::ForwardPlan& plan,
                                std::span<const std::int32_t> row_of, Rows<const float> rows);

  /// Touches what `reads` reads or fewer use.
  void Touch(std::int64_t reads);

 private:
  struct Input {
    const proto::ForwardPlan& plan;
    std::span<const std::int32_t> row_of;
    Rows<const float> rows;

    const float* RowOf(std::size_t read) const { return rows[row_of[read]]; }
  };

  /// Logits of the whole slice, for reads that ask for the normaliser.
  void AnswerWithNormalizer(const Input& input, const std::vector<std::size_t>& offsets,
                            std::byte* answer);
  /// What a read needs of some columns of its row but the labels; divides them by its temperature.
  AnswerPart ReadColumns(const proto::PlanRead& read, proto::Range columns, float* row) const;
  /// Label columns only, straight from the mapped weight.
  void AnswerLabels(const Input& input, const std::vector<std::size_t>& offsets, std::byte* answer);

  const Kernels& kernels_;
  ThreadPool& pool_;
  const TensorView& mapped_weight_;  // [vocab_size, hidden_size]
  std::int64_t hidden_size_;
  proto::Range vocabulary_;
  Linear slice_;  // [vocabulary, hidden_size]
  AlignedBuffer<std::byte> input_data_;
  Activations input_;                           // [kRowsAtOnce, hidden_size], in input_data_
  AlignedBuffer<float> logits_;                 // [kRowsAtOnce, vocabulary]
  std::vector<std::vector<float>> thread_row_;  // [threads][hidden_size]
};

}  // namespace scorecast::shard
