#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "proto/model/partition.h"
#include "proto/plan/best_draws.h"
#include "proto/plan/forward_plan.h"
#include "shard/kernels/kernels.h"
#include "shard/readout/partial_logits.h"

namespace scorecast::shard {

/// Columns of a slice whose exponentials are added up in float32. The ranges are counted from the
/// slice's start, so that the bits do not depend on how a product is cut.
inline constexpr std::int64_t kRangeColumns = 256;
static_assert(proto::kVocabularyGrain % kRangeColumns == 0, "blocks consist of whole ranges");

/// Number of ranges of a slice of `columns` columns. The last range may be narrower.
constexpr std::int64_t Ranges(std::int64_t columns) {
  return (columns + kRangeColumns - 1) / kRangeColumns;
}

/// The logits of one range: their maximum, and the sum of exp(logit - max).
struct RangeNormalizer {
  float max = kNoScore;
  float sum_exp = 0;
};

/// A label in this rank's slice.
struct LabelColumn {
  std::int64_t column = 0;  ///< Counted from the slice's start.
  std::size_t index = 0;    ///< Index among the labels of its list that are in the slice.
};

/// The labels of a list that are in a slice of the vocabulary, by column.
std::vector<LabelColumn> LabelColumns(const proto::LabelList& labels, proto::Range vocabulary);

/// Collects the partial logits of one read that has a normalizer while the logits of its row are
/// computed. The result does not depend on the order in which the ranges arrive.
class ReadAccumulator {
 public:
  /// `labels` are LabelColumns of the read's list. The normalizer of range i is kept in
  /// ranges[i · stride]. If the read ranks its target, `target_logit` is the target's logit, which
  /// may lie in another slice, before the temperature. All arguments must outlive this object.
  ReadAccumulator(const Kernels& kernels, const proto::PlanRead& read, proto::Range vocabulary,
                  std::span<const LabelColumn> labels, RangeNormalizer* ranges, std::int64_t stride,
                  float target_logit = 0);

  /// Takes the logits of some columns, which are whole ranges of the slice. Bias and soft-cap are
  /// applied already, the temperature is not. Any thread may call this at any time.
  void Add(proto::Range columns, const float* logits);
  /// Called once, after all columns were added. `blocks` are the blocks of the slice, which consist
  /// of whole ranges; if there is none, the slice is one block.
  PartialLogits Finish(const proto::Blocks* blocks = nullptr);

 private:
  /// The normalizer of some columns, which are whole ranges.
  Normalizer Normalize(proto::Range columns) const;

  /// Columns of a range that are left out.
  using Excluded = std::bitset<kRangeColumns>;

  void AddRange(proto::Range columns, const float* logits);
  void FindTop(proto::Range columns, const float* logits, float max, const Excluded& excluded);
  void FindDraw(proto::Range columns, const float* logits, float sum_exp);
  void AddMassBins(std::int64_t columns, const float* logits, float max);
  void AddMasses(proto::Range columns, const float* logits, float max);
  /// Copies the logits of tokens that stand before a place; the others become kNoScore. Returns
  /// whether there are such tokens.
  bool CopyBefore(const proto::TokenPlace& place, proto::Range columns, const float* logits,
                  float* copy) const;
  void CountAtLeastTarget(std::int64_t columns, const float* logits, float max);

  const Kernels& kernels_;
  const proto::PlanRead& read_;
  const proto::Range vocabulary_;
  const std::span<const LabelColumn> labels_;
  RangeNormalizer* const ranges_;
  const std::int64_t stride_;
  const std::size_t top_k_;     ///< OwnedTop.
  const float divided_target_;  ///< The target's logit, divided by the temperature.

  /// A logit below this cannot be among the best. The value may lag behind, and is then too low.
  /// While the best include a NaN, the value is NaN, and no logit counts as below it.
  std::atomic<float> least_top_ = -std::numeric_limits<float>::infinity();
  /// A token whose logit + noise is below this cannot be drawn. The value may lag behind, and is
  /// then too low.
  std::atomic<float> least_drawn_ = std::numeric_limits<float>::lowest();
  std::atomic<std::int32_t> target_rank_ = 0;
  const float bins_of_logit_;                       ///< 1 over the width of bins.
  std::vector<std::atomic<std::uint64_t>> masses_;  ///< [places]
  std::mutex mutex_;  ///< Guards part_.top, part_.mass_bins and best_draws_.
  proto::BestDraws best_draws_;
  PartialLogits part_;
};

}  // namespace scorecast::shard
