#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::proto {

enum class SegmentKind : std::uint8_t { kPrefix, kBlock, kSuffix };

/// Who sees whom, but for segments that continue others (see Segment::continues): a row sees the
/// earlier segments of these kinds, whole, and its own segment up to itself.
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

/// A run of rows at consecutive positions. Its rows follow those of the segment before it.
struct Segment {
  SegmentKind kind = SegmentKind::kPrefix;
  std::int32_t length = 0;
  std::int32_t first_position = 0;
  /// It goes on from the segment before it, which is of the same kind: its rows see that segment
  /// too, and those that it continues. So do the chunks of a group, behind its first one.
  bool continues = false;

  bool operator==(const Segment&) const = default;
};

/// Where the chain of segments begins that segment `index` continues, or `index` itself. A row of
/// it sees the segments from there on, whole, and its own up to itself; of those before, what Sees
/// says. `segments` have `continues`.
template <typename Segments>
std::size_t ChainBegin(const Segments& segments, std::size_t index) {
  while (segments[index].continues) {
    --index;
  }
  return index;
}

/// How suffix rows weigh blocks against the rest, after APE (arXiv 2502.05431): with scores s
/// against all keys of blocks, o = softmax(s / T) V with weight T logsumexp(s / T) + ln S, merged
/// by softmax over the weights with prefix and own keys, whose T and S are 1.
struct BlockWeighting {
  float temperature = 1;  ///< T, > 0
  float scale = 1;        ///< S, > 0

  bool is_plain() const { return temperature == 1 && scale == 1; }
  bool operator==(const BlockWeighting&) const = default;
};

/// A token drawn with probability softmax(logits): the one whose logit plus GumbelNoise(seed, step,
/// id) is the largest, so that each rank finds the best of its own (see gumbel.h).
struct Draw {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;

  bool operator==(const Draw&) const = default;
};

/// What an answer needs of one row.
struct RowRead {
  std::int32_t row = 0;         ///< Index into the sequence's tokens.
  std::int32_t label_list = 0;  ///< Index into `PackedSequence::label_lists`.
  bool normalizer = false;      ///< Maximum and sum of exponentials over the whole vocabulary.
  std::int32_t top_k = 0;       ///< How many best tokens; needs `normalizer`.
  /// Logits are divided by it before anything is made of them, in the shard; > 0. Other than 1 with
  /// `normalizer` only.
  float temperature = 1;
  std::optional<Draw> draw;  ///< Needs `normalizer`.

  bool operator==(const RowRead&) const = default;
};

/// A request in the form in which it is computed: a prefix, then blocks that never see each other,
/// then suffixes that see all of it but each other. The only source of mask and positions.
struct PackedSequence {
  std::vector<TokenId> tokens;  ///< [rows]
  /// Prefixes, then blocks, then suffixes; lengths add up to rows. Only a suffix may be empty: one
  /// that an answer is generated into.
  std::vector<Segment> segments;
  std::vector<RowRead> reads;  ///< In the order in which the answer wants them.
  std::vector<std::vector<TokenId>> label_lists;
  BlockWeighting block_weighting;

  std::int64_t rows() const { return static_cast<std::int64_t>(tokens.size()); }
  /// The largest position + 1; 0 for an empty sequence. It is this that a model's limit bounds.
  std::int64_t PositionLimit() const;
};

/// Query and items as multi-item scoring computes them: the prefix, then a block per item at
/// positions P, P+1, … An item of no tokens gets no block. Delimiters are not computed unless the
/// caller put the first one at the end of `prefix` (visibility `first`).
/// No reads are set: see `LastRowOfEachItem`.
PackedSequence PackItems(const std::vector<TokenId>& prefix,
                         const std::vector<std::vector<TokenId>>& items);

/// For a sequence of `PackItems`: the row to read for each item, which is the last prefix row for
/// an item of no tokens. `prefix_length` must be at least 1.
std::vector<std::int32_t> LastRowOfEachItem(std::int32_t prefix_length,
                                            const std::vector<std::vector<TokenId>>& items);

}  // namespace scorecast::proto
