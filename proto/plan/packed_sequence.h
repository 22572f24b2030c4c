#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "proto/model/read_head.h"
#include "proto/model/token_id.h"
#include "proto/plan/label_list.h"

namespace scorecast::proto {

enum class SegmentKind : std::uint8_t { kPrefix, kBlock, kSuffix };

/// Whether rows of one kind of segment see keys of another. A row sees all of the earlier segments
/// of these kinds, its own segment up to itself, and the segments that its own continues (see
/// Segment::continues).
constexpr bool Sees(SegmentKind row, SegmentKind key) {
  switch (row) {
    case SegmentKind::kPrefix:
    case SegmentKind::kBlock:
      return key == SegmentKind::kPrefix;
    case SegmentKind::kSuffix:
      return key != SegmentKind::kSuffix;
  }
  return false;
}

/// Rows at consecutive positions. They follow the rows of the previous segment.
struct Segment {
  SegmentKind kind = SegmentKind::kPrefix;
  std::int32_t length = 0;
  std::int32_t first_position = 0;
  /// Whether this segment continues the one before it, which has the same kind. Its rows then also
  /// see that segment and the segments that it continues. In a group of chunks, every chunk but the
  /// first continues the one before it.
  bool continues = false;

  bool operator==(const Segment&) const = default;
};

/// How suffix rows weigh blocks against the other keys, after APE (arXiv 2502.05431). Let s be the
/// scores against all keys of blocks. Then o = softmax(s / T) V has the weight T logsumexp(s / T) +
/// ln S. It is merged, by softmax over the weights, with the result over prefix and own keys, for
/// which T and S are 1.
struct BlockWeighting {
  float temperature = 1;  ///< T, > 0
  float scale = 1;        ///< S, > 0

  bool is_plain() const { return temperature == 1 && scale == 1; }
  bool operator==(const BlockWeighting&) const = default;
};

/// A place in the order of a row's tokens: by descending logit, then by ascending id.
struct TokenPlace {
  float logit = 0;
  TokenId id = 0;

  /// Whether a token with this logit and id stands before the place.
  constexpr bool IsAfter(float other_logit, TokenId other_id) const {
    return other_logit > logit || (other_logit == logit && other_id < id);
  }
  bool operator==(const TokenPlace&) const = default;
};

/// All tokens with finite logits stand before this place.
inline constexpr TokenPlace kLastPlace = {std::numeric_limits<float>::lowest(),
                                          std::numeric_limits<TokenId>::max()};

/// A token drawn with probability softmax(logits): the one with the largest logit plus
/// GumbelNoise(seed, step, id). Each rank can therefore find the best of its own tokens (see
/// gumbel.h). Of the tokens that stand before a place, the one with the largest sum is drawn with
/// probability softmax(their logits).
struct Draw {
  static constexpr std::int32_t kMostTokens = 8;

  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  std::int32_t count = 1;       ///< Tokens that are returned: those with the largest sums.
  TokenPlace end = kLastPlace;  ///< Only tokens before this place are returned.

  bool operator==(const Draw&) const = default;
};

/// Places of a row's tokens, before each of which the probability mass is summed up: exp(logit -
/// max) of each token that stands before the place. Masses are counted in units of 2^-kUnitBits, so
/// that the order of threads and ranks does not matter.
struct PlaceMasses {
  static constexpr std::size_t kMostPlaces = 3;
  static constexpr int kUnitBits = 40;  ///< The sum of a vocabulary is below 2^64.

  float max = 0;  ///< No logit is larger.
  std::vector<TokenPlace> places;

  bool operator==(const PlaceMasses&) const = default;
};

/// What is read from one row of a sequence, or from several that are pooled.
struct RowRead {
  std::int32_t row = 0;         ///< Index into the sequence's tokens.
  std::int32_t label_list = 0;  ///< Index into `PackedSequence::label_lists`.
  bool normalizer = false;      ///< Asks for the maximum and the sum of exponentials over the whole
                                ///< vocabulary.
  std::int32_t top_k = 0;       ///< Number of best tokens; needs `normalizer`.
  /// Must be > 0. The shard divides the logits by it before it computes anything from them. Only
  /// reads with `normalizer` may have another value than 1.
  float temperature = 1;
  std::optional<Draw> draw;  ///< Needs `normalizer`.
  /// The token whose logit is returned besides those of the labels; -1 for none. Needs
  /// `normalizer`. Reads of many rows each have their own target, but may share a label list.
  TokenId target = -1;
  /// Maximum, sum of exponentials, best tokens, draw and masses are those of the tokens that are no
  /// labels. The label list then has no token twice. Needs `normalizer`.
  bool excludes_labels = false;
  /// Asks for the target's rank as well (RowLogits::target_rank). Needs `target`.
  bool ranks_target = false;
  /// If it is above 0, asks for RowLogits::mass_bins of this width, a power of two of at most
  /// MassBins::kMostWidth. Needs `normalizer`.
  float bin_width = 0;
  PlaceMasses masses;  ///< Places, if there are any, need `normalizer`.
  /// If it is not -1, the model has a ReadHead, which pools the rows from `first_row` to `row`.
  /// They are rows of one segment, and of no other read. Of the fields above, only `row` is used.
  std::int32_t first_row = -1;
  /// The row as it is: `first_row` is `row`, and nothing of the ReadHead is applied.
  bool raw = false;
  /// A pooled result keeps its length, also if the ReadHead normalises.
  bool keeps_length = false;

  bool is_pooled() const { return first_row >= 0; }
  bool operator==(const RowRead&) const = default;
};

/// Number of rows that are read for a RowRead or a PlanRead.
template <typename Read>
std::int64_t RowsOfRead(const Read& read) {
  return read.is_pooled() ? std::int64_t{read.row} - read.first_row + 1 : 1;
}

/// Some of the tokens of a list that several sequences share.
struct SharedTokens {
  std::shared_ptr<const std::vector<TokenId>> list;  ///< Not null unless `count` is 0.
  std::size_t first = 0;
  std::size_t count = 0;
  bool are_last = false;  ///< They follow the sequence's own tokens; otherwise they come first.

  std::span<const TokenId> ids() const {
    return count == 0 ? std::span<const TokenId>() : std::span(*list).subspan(first, count);
  }
};

/// A request in the form in which it is computed: prefixes; then blocks, which never see each
/// other; then suffixes, which see everything but each other. Mask and positions follow from this
/// alone.
struct PackedSequence {
  std::vector<TokenId> tokens;  ///< [rows], without those that are shared.
  SharedTokens shared;
  /// The types of the sequence's own tokens: [tokens], or empty if all are 0. Shared tokens have
  /// type 0.
  std::vector<std::uint8_t> token_types;
  /// Prefixes, then blocks, then suffixes; their lengths add up to the number of rows. Only a
  /// suffix into which a completion is generated may be empty.
  std::vector<Segment> segments;
  std::vector<RowRead> reads;  ///< In the order in which the results are needed.
  std::vector<LabelList> label_lists;
  BlockWeighting block_weighting;

  std::int64_t rows() const { return static_cast<std::int64_t>(tokens.size() + shared.count); }
  std::vector<TokenId> AllTokens() const;  ///< [rows]
  /// Leaves out the rows of pooled reads that the pooling does not need.
  void NarrowReads(PooledRows needed);
  /// The largest position + 1, or 0 for an empty sequence. A model's position limit bounds this
  /// number.
  std::int64_t PositionLimit() const;
};

}  // namespace scorecast::proto
