#include "proto/plan/packed_sequence.h"

#include <algorithm>

namespace scorecast::proto {

std::vector<TokenId> PackedSequence::AllTokens() const {
  const std::span<const TokenId> of_others = shared.ids();
  std::vector<TokenId> all;
  all.reserve(tokens.size() + of_others.size());
  all = tokens;
  all.insert(shared.are_last ? all.end() : all.begin(), of_others.begin(), of_others.end());
  return all;
}

void PackedSequence::NarrowReads(PooledRows needed) {
  for (RowRead& read : reads) {
    if (read.is_pooled() && needed == PooledRows::kFirst) {
      read.row = read.first_row;
    } else if (read.is_pooled() && needed == PooledRows::kLast) {
      read.first_row = read.row;
    }
  }
}

std::int64_t PackedSequence::PositionLimit() const {
  std::int64_t limit = 0;
  for (const Segment& segment : segments) {
    limit = std::max<std::int64_t>(limit, std::int64_t{segment.first_position} + segment.length);
  }
  return limit;
}

}  // namespace scorecast::proto
