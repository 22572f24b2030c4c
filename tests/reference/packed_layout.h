#pragma once

#include <vector>

#include "proto/plan/packed_sequence.h"

namespace scorecast::reference {

/// `shared`: all blocks begin at the position after the prefix, and suffixes follow the longest
/// block. `offset`: a row's position is its index in the sequence, except that all suffixes begin
/// at the position of the first one.
enum class PositionStrategy { kShared, kOffset };

/// A prefix, blocks and suffixes laid out in rows, independently of production code.
struct PackedLayout {
  std::vector<proto::TokenId> tokens;    ///< [rows]
  std::vector<proto::Segment> segments;  ///< The prefix, every block (even an empty one), the
                                         ///< suffix.
  /// The last row of each segment; for an empty one, that of the prefix or chunk that it follows.
  std::vector<std::int32_t> last_rows;
};

PackedLayout LayOut(const std::vector<proto::TokenId>& prefix,
                    const std::vector<std::vector<proto::TokenId>>& blocks,
                    const std::vector<proto::TokenId>& suffix = {},
                    PositionStrategy strategy = PositionStrategy::kShared);

/// Like LayOut, with any number of suffixes and with groups of chunks as blocks. Each chunk of a
/// group is a segment that continues the one before it.
PackedLayout LayOutGroups(const std::vector<proto::TokenId>& prefix,
                          const std::vector<std::vector<std::vector<proto::TokenId>>>& groups,
                          const std::vector<std::vector<proto::TokenId>>& suffixes,
                          PositionStrategy strategy = PositionStrategy::kShared);

}  // namespace scorecast::reference
