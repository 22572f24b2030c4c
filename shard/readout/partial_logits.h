#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"
#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// The maximum of some logits, and the sum of exp(logit - max).
struct Normalizer {
  float max = kNoScore;
  double sum_exp = 0;
};

/// One rank's partial logits of one read: what its slice of the vocabulary contributes.
struct PartialLogits {
  std::vector<float> label_logits;  ///< For the labels in the rank's slice, in list order.
  // The fields below are set only if the read asks for the normalizer.
  std::vector<Normalizer> normalizers;                ///< One for each block of the slice.
  std::vector<std::pair<proto::TokenId, float>> top;  ///< The OwnedTop best (id, logit).
  /// If tokens are drawn: those with the largest sums in the slice, up to Draw::count, sorted by
  /// IsDrawnBefore.
  std::vector<proto::DrawnToken> drawn;
  proto::MassBins mass_bins;          ///< If the read asks for them.
  std::vector<std::uint64_t> masses;  ///< [places]: the slice's masses before the read's places.
  std::optional<float> target_logit;  ///< If the slice has the read's target.
  /// If the read ranks its target: the slice's tokens whose logit is at least the target's.
  std::int32_t target_rank = 0;
};

/// The places of the reads' partial logits in the bytes that a rank sends: the fields of
/// PartialLogits without gaps, in the order of the plan's reads. The layout follows from the plan
/// and the rank's slice of the vocabulary, so it is not sent.
struct PartialLogitsLayout {
  std::vector<std::size_t> offsets;  ///< [reads]: byte at which each read begins.
  std::size_t bytes = 0;             ///< Bytes of all reads together.
};

/// Number of best tokens that a rank with this slice returns for a read, of whose labels it has so
/// many.
std::int64_t OwnedTop(const proto::PlanRead& read, proto::Range vocabulary,
                      std::int64_t owned_labels);

/// The slice `vocabulary` consists of so many blocks.
PartialLogitsLayout LayOutPartialLogits(const proto::ForwardPlan& plan, proto::Range vocabulary,
                                        std::int64_t blocks = 1);

/// Writes one read's partial logits to `bytes`.
void WritePartialLogits(const proto::PlanRead& read, const PartialLogits& part, std::byte* bytes);

/// Merges the partial logits of all ranks, concatenated in rank order, into one RowLogits per read.
/// Sums of exponentials are added block by block, in rank order. `blocks` are the blocks of each
/// slice; if it is empty, each slice is one block.
std::vector<proto::RowLogits> MergePartialLogits(const proto::ForwardPlan& plan,
                                                 std::span<const proto::Range> vocabularies,
                                                 std::span<const std::byte> gathered,
                                                 std::span<const std::int64_t> blocks = {});

/// Adds the maximum and the sum of exponentials of further logits to `max` and `sum_exp`.
void MergeNormalizer(float more_max, double more_sum_exp, float& max, double& sum_exp);

/// Sorts by IsBetter and keeps the first `k`.
void KeepBest(std::size_t k, std::vector<std::pair<proto::TokenId, float>>& top);

/// Orders by descending logit, then by ascending id. NaN comes last, so that the order is total.
bool IsBetter(const std::pair<proto::TokenId, float>& a, const std::pair<proto::TokenId, float>& b);

}  // namespace scorecast::shard
