#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// What a job holds while it waits. Tokens and label lists that its sequences share count once.
struct JobSize {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;  ///< Tokens, label lists, segments, reads and completions.
};

JobSize SizeOf(std::span<const proto::PackedSequence> sequences, std::size_t completions = 0);

/// Digest of the tokens of all sequences, by which a job that comes back is recognised.
std::uint64_t DigestOf(std::span<const proto::PackedSequence> sequences);

/// Bytes of the results of a sequence.
std::int64_t RowsBytes(const std::vector<proto::RowLogits>& rows);

}  // namespace scorecast::coordinator
