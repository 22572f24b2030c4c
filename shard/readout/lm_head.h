#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/linear.h"
#include "shard/readout/partial_logits.h"
#include "shard/readout/read_accumulator.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// This rank's vocabulary slice of the lm-head. It computes the logits of the rows that are read,
/// and keeps only what each read asks for, so that no buffer holds the logits of a whole row. The
/// head of a classifier is an lm-head whose tokens are the classes.
class LmHead {
 public:
  /// Reads that are computed together: the weights are read from memory once for this many reads.
  static constexpr std::int64_t kReadsAtOnce = 1024;

  /// `weight`: [output_size, hidden_size], must outlive this object. `bias`:
  /// [vocabulary], or empty. If there is a `softcap` c, logits x become c·tanh(x / c) before
  /// anything else is computed from them. Each of the `blocks` of the slice has a normalizer of
  /// its own. Without them, the slice is one block.
  LmHead(const Kernels& kernels, const Packing& packing, const TensorView& weight,
         proto::Range vocabulary, std::optional<double> softcap, std::vector<float> bias,
         std::optional<proto::Blocks> blocks = std::nullopt);

  /// The logits of the targets that reads rank, before the temperature: one for each such read, in
  /// the order of the reads. 0 if another rank's slice has the target, so that the ranks' logits
  /// add up to all of them. Arguments are those of ReadOut.
  std::vector<float> RankedTargets(const proto::ForwardPlan& plan,
                                   std::span<const std::int32_t> row_of, Rows<const float> rows);

  /// This rank's partial logits, laid out by LayOutPartialLogits. `rows` [rows read, hidden_size]
  /// are normalised. row_of [reads] is the index of each read's row among them. `ranked_targets`
  /// are the sums of all ranks' RankedTargets.
  std::vector<std::byte> ReadOut(const proto::ForwardPlan& plan,
                                 std::span<const std::int32_t> row_of, Rows<const float> rows,
                                 std::span<const float> ranked_targets);

  /// Bytes of the buffers that plans of up to `reads` reads use, for a slice of `vocabulary`
  /// tokens.
  static std::int64_t Bytes(std::int64_t hidden_size, std::int64_t vocabulary, std::int64_t reads,
                            Precision precision);
  /// Touches the buffers that `reads` reads or fewer use.
  void Touch(std::int64_t reads);

 private:
  struct Input {
    const proto::ForwardPlan& plan;
    std::span<const std::int32_t> row_of;
    Rows<const float> rows;
    std::vector<float> targets;  ///< [reads]: logits of the targets that are ranked.

    const float* RowOf(std::size_t read) const { return rows[row_of[read]]; }
  };

  /// The key is the index of the list.
  using Labels = std::map<std::int32_t, std::vector<LabelColumn>>;

  /// Computes the reads with a normalizer. They need the logits of the whole slice, which are used
  /// tile by tile while the product is computed. Read i is written to out + offsets[i].
  void ReadWithNormalizer(const Input& input, const std::vector<std::size_t>& offsets,
                          std::byte* out);
  /// Computes at most kReadsAtOnce of these reads. Reads of the same row stand together.
  void ReadTogether(const Input& input, std::span<const std::size_t> reads, const Labels& labels,
                    const std::vector<std::size_t>& offsets, std::byte* out);
  /// Rounds rows to the product's input. `row_of`(i) is the i-th of them.
  template <typename RowOf>
  void SetInput(std::int64_t rows, const RowOf& row_of);
  /// The logits of a tile's row, when bias and soft-cap are applied.
  float* FinishRow(const ProductTile& tile, std::int64_t row) const;
  /// Applies the soft-cap, if there is one.
  void SoftCap(std::int64_t n, float* logits) const;
  /// Computes the reads without a normalizer. They need only the columns of their labels, which are
  /// read from the file.
  void ReadLabels(const Input& input, const std::vector<std::size_t>& offsets, std::byte* out);

  const Kernels& kernels_;
  ThreadPool& pool_;
  const TensorView& stored_weight_;  // [output_size, hidden_size]
  std::int64_t hidden_size_;
  proto::Range vocabulary_;
  std::optional<proto::Blocks> blocks_;
  std::optional<float> softcap_;
  Linear slice_;             // [vocabulary, hidden_size]
  std::vector<float> bias_;  // [vocabulary], or empty
  AlignedBuffer<std::byte> input_data_;
  Activations input_;                           // [kReadsAtOnce, hidden_size], in input_data_
  AlignedBuffer<RangeNormalizer> ranges_;       // [ranges of the slice][reads computed together]
  std::vector<std::vector<float>> thread_row_;  // [threads][hidden_size]
};

}  // namespace scorecast::shard
