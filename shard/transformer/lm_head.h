#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/linear.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// This rank's vocabulary slice of the lm-head. It sees only rows that are read, and of those gives
/// only what the answer needs.
class LmHead {
 public:
  /// Rows that are given logits at once, which bounds their memory.
  static constexpr std::int64_t kRowsAtOnce = 64;

  /// `weight`: [vocab_size, hidden_size], mapped for as long as this object lives.
  LmHead(const Kernels& kernels, GemmBackend& backend, const TensorView& weight,
         proto::Range vocabulary, int threads);

  /// This rank's answer (see answer.h) from the normalised rows read, [reads, hidden_size].
  std::vector<std::byte> Answer(const proto::ForwardPlan& plan, Rows<const float> rows,
                                ThreadPool& pool);

 private:
  /// Logits of the whole slice, for reads that ask for the normaliser.
  void AnswerWithNormalizer(const proto::ForwardPlan& plan, Rows<const float> rows,
                            const std::vector<std::size_t>& offsets, std::byte* answer,
                            ThreadPool& pool);
  /// Label columns only, straight from the mapped weight.
  void AnswerLabels(const proto::ForwardPlan& plan, Rows<const float> rows,
                    const std::vector<std::size_t>& offsets, std::byte* answer, ThreadPool& pool);

  const Kernels& kernels_;
  const TensorView& mapped_weight_;  // [vocab_size, hidden_size]
  std::int64_t hidden_size_;
  proto::Range vocabulary_;
  Linear slice_;                               // [vocabulary, hidden_size]
  AlignedBuffer<float> input_;                 // [kRowsAtOnce, hidden_size]
  AlignedBuffer<float> logits_;                // [kRowsAtOnce, vocabulary]
  std::vector<std::vector<float>> label_row_;  // [threads][hidden_size]
};

}  // namespace scorecast::shard
