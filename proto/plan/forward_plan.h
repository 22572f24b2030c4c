#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "proto/model/token_id.h"
#include "proto/plan/label_list.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::proto {

/// K/V places are assigned in multiples of this many rows, so that keys of one segment fill whole
/// vectors of the attention kernel.
inline constexpr std::int32_t kKvGranule = 16;

/// Kept K/V places are assigned in pages of this many rows. Attention reduces over the same number
/// of keys at a time, so that a segment cut into pages gives the same bits as a whole one.
inline constexpr std::int32_t kKvPageRows = 64;

/// `rows` rounded up to whole granules.
constexpr std::int32_t KvRows(std::int32_t rows) {
  return (rows + kKvGranule - 1) / kKvGranule * kKvGranule;
}

/// Place of the K/V of a segment's first row. The other rows follow it.
struct KvPlace {
  /// If true, the K/V is kept for later passes and has storage in every layer. If false, only this
  /// pass needs it, and all layers share one layer's storage.
  bool kept = false;
  std::int32_t first =
      0;  ///< Counted in rows; a multiple of kKvGranule, or of kKvPageRows if kept.

  bool operator==(const KvPlace&) const = default;
};

/// A segment, or a page of one, in a pass. The rows [compute_begin, compute_end) are computed now;
/// any later ones do not exist yet. The K/V of the rows before `stored` is not written, because an
/// earlier pass has stored it or another sequence of this pass stores it. Rows from compute_begin
/// to `stored` are computed only because a read needs them. compute_begin <= stored <= compute_end.
struct PlanSegment {
  SegmentKind kind = SegmentKind::kPrefix;
  bool continues = false;           ///< As Segment::continues; also true for the later pages of a
                                    ///< block or suffix.
  std::int32_t first_position = 0;  ///< Position of the segment's row 0.
  std::int32_t compute_begin = 0;
  std::int32_t stored = 0;
  std::int32_t compute_end = 0;
  KvPlace kv;

  std::int32_t computed() const { return compute_end - compute_begin; }
  bool operator==(const PlanSegment&) const = default;
};

/// The segments of one packed sequence that this pass computes or whose K/V it reads.
struct PlanSequence {
  std::vector<PlanSegment> segments;
  BlockWeighting block_weighting;
  bool operator==(const PlanSequence&) const = default;
};

/// One computed row that is read out, and what is read from it.
struct PlanRead {
  std::int32_t row = 0;         ///< Index into the rows computed in this pass.
  std::int32_t label_list = 0;  ///< Index into `ForwardPlan::label_lists`.
  bool normalizer = false;
  std::int32_t top_k = 0;
  float temperature = 1;
  std::optional<Draw> draw;

  bool operator==(const PlanRead&) const = default;
};

/// A copy of the kept K/V of `rows` rows, in every layer, from the start of one page to the start
/// of another, made before anything is computed. A page that one copy of a plan writes is neither
/// read nor written by another copy.
struct KvCopy {
  std::int32_t from = 0;  ///< Counted in rows; a multiple of kKvPageRows, like `to`.
  std::int32_t to = 0;
  std::int32_t rows = 0;  ///< 1 … kKvPageRows

  bool operator==(const KvCopy&) const = default;
};

/// One pass over the model: a batch of packed sequences, or of parts of them. Everything that the
/// ranks do follows from the plan. It is broadcast once, and no rank can refuse it.
struct ForwardPlan {
  /// Rows for which the ranks' buffers have room in this pass: TokenBucket(tokens.size()), or a
  /// larger bucket. The bucket decides how the buffers are laid out. Neither the work nor any bit
  /// of the result depends on it.
  std::uint32_t bucket = 0;
  /// A bucket of reads in the same way: it decides the room for the rows that are read.
  std::uint32_t read_bucket = 0;
  std::vector<TokenId> tokens;          ///< Tokens of the computed rows, sequence by sequence.
  std::vector<PlanSequence> sequences;  ///< Their computed rows add up to tokens.size().
  std::vector<KvCopy> copies;
  std::vector<PlanRead> reads;
  std::vector<LabelList> label_lists;

  bool operator==(const ForwardPlan&) const = default;
};

/// The smallest of 32, 64, 128, … that is at least `rows`.
std::uint32_t TokenBucket(std::int64_t rows);

/// The largest bucket whose buffers are touched at start-up, so that its first pass is as fast as
/// later passes. A smaller bucket uses a part of the same memory.
inline constexpr std::uint32_t kTouchedBucket = 1024;

/// Default of PlanLimits::max_logit_bytes.
inline constexpr std::int64_t kMaxLogitBytes = std::int64_t{64} << 20;

/// Limits that every plan observes and for which the ranks' buffers are made.
struct PlanLimits {
  std::int32_t max_rows = 0;      ///< Most rows computed in one pass.
  std::int32_t max_reads = 0;     ///< Most rows read in one pass.
  std::int32_t pass_kv_rows = 0;  ///< Rows of pass-local K/V storage.
  std::int32_t kept_kv_rows = 0;  ///< Rows of K/V storage kept between passes, in whole pages.
  /// Upper bound on the bytes of partial logits of one pass, summed over all ranks, as ReadBytes
  /// counts them. At most what MPI can gather, because its counts are `int`. It also bounds the
  /// bytes of a plan's label lists, because every list is read.
  std::int64_t max_logit_bytes = kMaxLogitBytes;
  // ReadBytes depends on these.
  std::int32_t ranks = 1;
  /// Number of tokens or classes of all ranks together.
  std::int64_t vocabulary = std::numeric_limits<std::int32_t>::max();
};

/// Upper bound on the bytes of partial logits of one read (a RowRead or a PlanRead), however the
/// vocabulary is divided among the ranks. `labels` is the length of the read's label list.
template <typename Read>
std::int64_t ReadBytes(const Read& read, std::size_t labels, const PlanLimits& limits) {
  constexpr std::int64_t kNormalizer = sizeof(float) + sizeof(double);
  constexpr std::int64_t kToken = sizeof(TokenId) + sizeof(float);
  constexpr std::int64_t kDrawn = sizeof(TokenId) + sizeof(double);
  auto bytes = static_cast<std::int64_t>(labels * sizeof(float));
  if (read.normalizer) {
    bytes += limits.ranks * (kNormalizer + (read.draw ? kDrawn : 0));
    bytes += std::min(std::int64_t{read.top_k} * limits.ranks, limits.vocabulary) * kToken;
  }
  return bytes;
}

/// ReadBytes of all reads of a plan.
std::int64_t LogitBytes(const ForwardPlan& plan, const PlanLimits& limits);

/// ReadBytes of the largest read for which a request can ask.
std::int64_t LargestReadBytes(const PlanLimits& limits);

/// Limits of the plans within `limits` that have these buckets. Buckets do not limit K/V.
PlanLimits LimitsOfBuckets(const PlanLimits& limits, std::uint32_t bucket,
                           std::uint32_t read_bucket);

/// The part of the buffers made for `limits` that is touched at start-up: the part that plans of up
/// to kTouchedBucket rows and reads use. Pass-local K/V is four rows a computed row, which is
/// enough if no segment has fewer than four rows. In a plan with shorter segments a row may take a
/// whole granule; such a plan may touch new pages. The number of kept rows is 0, because they
/// belong to no single pass.
PlanLimits TouchedLimits(const PlanLimits& limits);

/// Checks that the plan's rows, reads and partial logits fit its buckets and `limits`, and that
/// these limits allow such buckets. If not, an invariant is broken.
void CheckBuckets(const ForwardPlan& plan, const PlanLimits& limits);

}  // namespace scorecast::proto
