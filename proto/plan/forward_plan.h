#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/model/read_head.h"
#include "proto/model/token_id.h"
#include "proto/plan/label_list.h"
#include "proto/plan/mass_bins.h"
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
  /// In a step of a text (PlanStep): rows behind compute_end. Their K/V is stored, if the step
  /// attends.
  std::int32_t later = 0;

  std::int32_t computed() const { return compute_end - compute_begin; }
  /// Rows to which its rows may attend.
  std::int32_t keys() const { return compute_end + later; }
  bool operator==(const PlanSegment&) const = default;
};

/// The segments of one packed sequence that this pass computes or whose K/V it reads.
struct PlanSequence {
  std::vector<PlanSegment> segments;
  BlockWeighting block_weighting;
  bool operator==(const PlanSequence&) const = default;
};

/// One computed row that is read out, and what is read from it; or rows that are pooled.
struct PlanRead {
  std::int32_t row = 0;         ///< Index into the rows computed in this pass.
  std::int32_t label_list = 0;  ///< Index into `ForwardPlan::label_lists`.
  bool normalizer = false;
  std::int32_t top_k = 0;
  float temperature = 1;
  std::optional<Draw> draw;
  TokenId target = -1;  ///< As RowRead::target.
  bool excludes_labels = false;
  bool ranks_target = false;
  float bin_width = 0;
  PlaceMasses masses;
  std::int32_t first_row = -1;  ///< Index of the first row of this pass that is pooled.
  bool raw = false;
  bool keeps_length = false;
  /// Whether further rows of the text are pooled in later passes. The result is then what has been
  /// pooled so far, [pooling][hidden_size], as RowLogits::embedding: `pooled` of the next pass.
  bool goes_on = false;
  std::int32_t rows_before = 0;  ///< Number of the text's rows that earlier passes have pooled.
  std::vector<float> pooled;     ///< What they gave; empty if there were none.

  bool is_pooled() const { return first_row >= 0; }
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

/// A bidirectional text that would take too long for one pass, or has too many rows, is computed in
/// steps, each of which is a pass of its own. A step computes some of the text's rows, those of one
/// PlanSegment, for the stages [begin, end). Stage s finishes layer s - 1 and computes keys and
/// values of layer s: the first stage begins with the embedding, and the last one, which has the
/// number of the layers, ends with the reads. So keys and values of all rows are there when a stage
/// attends, if all rows have passed the stage before. A step with several stages has all rows.
///
/// Residuals, and keys and values of two layers, wait in buffers of PlanLimits::text_rows rows.
/// Each text that is under way has rows of its own there, which follow each other from
/// PlanSegment::kv on. All stages of a text divide its rows in the same way among their steps, and
/// so among the ranks: a residual stays with the rank that owns the row.
struct PlanStep {
  std::int32_t begin = 0;
  std::int32_t end = 0;

  bool operator==(const PlanStep&) const = default;
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
  std::vector<TokenId> tokens;  ///< Tokens of the computed rows, sequence by sequence.
  /// Types of these tokens: [tokens], or empty if all are 0.
  std::vector<std::uint8_t> token_types;
  std::vector<PlanSequence> sequences;  ///< Their computed rows add up to tokens.size().
  std::vector<KvCopy> copies;
  std::vector<PlanRead> reads;
  std::vector<LabelList> label_lists;
  /// The pass is a step of one text. Its K/V is kept, at the place of the text in the buffers for
  /// texts.
  std::optional<PlanStep> step;

  bool operator==(const ForwardPlan&) const = default;
};

/// The smallest of 32, 64, 128, … that is at least `rows`.
std::uint32_t TokenBucket(std::int64_t rows);

/// The largest bucket whose buffers are touched at start-up, so that its first pass is as fast as
/// later passes. A smaller bucket uses a part of the same memory.
inline constexpr std::uint32_t kTouchedBucket = 1024;

/// Default of PlanLimits::max_logit_bytes.
inline constexpr std::int64_t kMaxLogitBytes = std::int64_t{64} << 20;

/// How far rows see in the layers of a model, as far as the time of a pass depends on it.
struct KeyReach {
  bool both_sides = false;    ///< ModelConfig::bidirectional.
  std::int64_t window = 0;    ///< LayerConfig::sliding_window of the layers that have one.
  double windowed_share = 0;  ///< How many of the layers these are, from 0 to 1.
};

/// Limits that every plan observes and for which the ranks' buffers are made.
struct PlanLimits {
  std::int32_t max_rows = 0;   ///< Most rows computed in one pass.
  std::int32_t max_reads = 0;  ///< Most rows read in one pass: RowsOfRead, summed over its reads.
  std::int32_t pass_kv_rows = 0;  ///< Rows of pass-local K/V storage.
  std::int32_t kept_kv_rows = 0;  ///< Rows of K/V storage kept between passes, in whole pages.
  std::int32_t longest_text = 0;  ///< Most rows of a text that is computed in steps (PlanStep).
  /// Rows of the buffers in which such texts wait between their steps, in whole pages. At least
  /// those of a longest text. The other rows are a reserve for short texts.
  std::int32_t text_rows = 0;
  /// Upper bound on the bytes of partial logits of one pass, summed over all ranks, as ReadBytes
  /// counts them. At most what MPI can gather, because its counts are `int`. It also bounds the
  /// bytes of a plan's label lists, because every list is read.
  std::int64_t max_logit_bytes = kMaxLogitBytes;
  // ReadBytes depends on these: see SetModelLimits.
  std::int32_t ranks = 1;
  std::int32_t normalizers = 1;  ///< Normalizers of a read, of all ranks together.
  /// Number of tokens or classes of all ranks together, or the values of an embedding.
  std::int64_t vocabulary = std::numeric_limits<std::int32_t>::max();
  // Of a model with a ReadHead.
  PooledRows pooled_rows = PooledRows::kLast;
  std::int64_t pooled_values = 0;  ///< Numbers that are pooled: [pooling][hidden_size].
  std::int64_t row_values = 0;     ///< Numbers of a row as it is: [hidden_size].
  std::int32_t layers = 1;
  KeyReach reach;
};

/// Sets the members that say what reads of a model take.
void SetModelLimits(const ModelConfig& config, int ranks, PlanLimits& limits,
                    Sharding sharding = Sharding::kEven);

/// Upper bound on the bytes of partial logits of one read (a RowRead or a PlanRead), however the
/// vocabulary is divided among the ranks. `labels` is the length of the read's label list.
template <typename Read>
std::int64_t ReadBytes(const Read& read, std::size_t labels, const PlanLimits& limits) {
  if (read.is_pooled()) {
    // The result that rank 0 computes of what is gathered may be longer.
    const std::int64_t values =
        read.raw ? limits.row_values : std::max(limits.pooled_values, limits.vocabulary);
    return values * static_cast<std::int64_t>(sizeof(float));
  }
  constexpr std::int64_t kNormalizer = sizeof(float) + sizeof(double);
  constexpr std::int64_t kToken = sizeof(TokenId) + sizeof(float);
  constexpr std::int64_t kDrawn = sizeof(TokenId) + sizeof(float) + sizeof(double);
  constexpr std::int64_t kCount = sizeof(std::int32_t);
  auto bytes = static_cast<std::int64_t>(labels * sizeof(float));
  if (read.normalizer) {
    bytes += std::max(limits.ranks, limits.normalizers) * kNormalizer;
    bytes += read.draw ? std::int64_t{read.draw->count} * limits.ranks * kDrawn : 0;
    bytes += read.bin_width > 0 ? limits.ranks * MassBins::kBytes : 0;
    bytes +=
        static_cast<std::int64_t>(read.masses.places.size() * sizeof(std::uint64_t)) * limits.ranks;
    bytes += std::min(std::int64_t{read.top_k} * limits.ranks, limits.vocabulary) * kToken;
    bytes += read.target >= 0 ? sizeof(float) : 0;  // Only the rank that has the token sends it.
    bytes += read.ranks_target ? limits.ranks * kCount : 0;
  }
  return bytes;
}

/// ReadBytes of all reads of a plan.
std::int64_t LogitBytes(const ForwardPlan& plan, const PlanLimits& limits);

/// RowsOfRead of all reads of a plan.
std::int64_t RowsRead(const ForwardPlan& plan);

/// ReadBytes of the largest read for which a request can ask.
std::int64_t LargestReadBytes(const PlanLimits& limits);

/// Limits of the plans within `limits` that have these buckets. Buckets do not limit K/V.
PlanLimits LimitsOfBuckets(const PlanLimits& limits, std::uint32_t bucket,
                           std::uint32_t read_bucket);

/// The part of the buffers made for `limits` that is touched at start-up: the part that plans of up
/// to kTouchedBucket rows and reads use. Pass-local K/V is four rows a computed row, which is
/// enough if no segment has fewer than four rows. In a plan with shorter segments a row may take a
/// whole granule; such a plan may touch new pages. The number of kept rows is 0, because they
/// belong to no single pass; neither do those of a text that is computed in steps.
PlanLimits TouchedLimits(const PlanLimits& limits);

/// Checks that the plan's rows, reads and partial logits fit its buckets and `limits`, and that
/// these limits allow such buckets. If not, an invariant is broken.
void CheckBuckets(const ForwardPlan& plan, const PlanLimits& limits);

}  // namespace scorecast::proto
