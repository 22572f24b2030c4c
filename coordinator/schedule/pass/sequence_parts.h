#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/schedule/job.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// Tokens of rows that follow each other, in the lists that have them.
using TokenSpans = std::array<std::span<const proto::TokenId>, 3>;

/// One segment of a sequence with its tokens so far and its reads still to come. The sequence keeps
/// the tokens of its prompt, and outlives the part.
struct SequencePart {
  struct Read {
    std::int32_t row = 0;  ///< Within the part.
    /// Index of a score read, or number of score reads + index of a completion. Pooled rows follow
    /// each other, and have the same target.
    std::int32_t target = 0;
  };

  proto::Segment segment;  ///< `length` is that of the prompt: generated tokens do not count.
  const proto::PackedSequence* sequence = nullptr;
  std::int64_t first_row = 0;             ///< Within the sequence.
  std::vector<proto::TokenId> generated;  ///< They follow the prompt's.
  std::vector<Read> reads;                ///< In order of their rows.
  /// K/V outlives the pass that computes it, if the sequence takes several passes.
  bool must_be_kept = false;
  bool is_shared = false;   ///< Other parts see it, and other sequences may contain it.
  bool is_growing = false;  ///< A completion is generated into it.

  std::int32_t rows() const { return segment.length + static_cast<std::int32_t>(generated.size()); }
  /// The tokens of the rows [begin, end): where they are, and copied.
  TokenSpans Tokens(std::int32_t begin, std::int32_t end) const;
  std::vector<proto::TokenId> CopiedTokens(std::int32_t begin, std::int32_t end) const;
  /// The types of these tokens; empty if all of the sequence's are 0.
  std::vector<std::uint8_t> TokenTypes(std::int32_t begin, std::int32_t end) const;
};

/// One part for each segment, with the sequence's score reads. `generations` are those of the
/// sequence, which outlives the parts.
std::vector<SequencePart> PartsOf(const proto::PackedSequence& sequence,
                                  const proto::PlanLimits& limits,
                                  std::span<const Generation> generations);

/// Number of prefix parts. They are the first ones.
std::size_t PrefixParts(std::span<const SequencePart> parts);

/// End of the chain of parts that begins with part `begin`: the parts that continue it follow it.
std::size_t ChainEnd(std::span<const SequencePart> parts, std::size_t begin);

}  // namespace scorecast::coordinator
