#pragma once

#include <vector>

#include "proto/plan/packed_sequence.h"

namespace scorecast::reference {

/// `shared`: all blocks begin where the prefix ends and suffixes follow the longest block.
/// `offset`: positions are places; of several suffixes, each stands where the first one does.
enum class PositionStrategy { kShared, kOffset };

/// A prefix, blocks and suffixes laid out in rows, independently of production.
struct PackedLayout {
  std::vector<proto::TokenId> tokens;    ///< [rows]
  std::vector<proto::Segment> segments;  ///< The prefix, every block (empty ones too), the suffix.
  /// Of each segment; for an empty one, of what it follows: the prefix, or the chunk before it.
  std::vector<std::int32_t> last_rows;
};

PackedLayout LayOut(const std::vector<proto::TokenId>& prefix,
                    const std::vector<std::vector<proto::TokenId>>& blocks,
                    const std::vector<proto::TokenId>& suffix = {},
                    PositionStrategy strategy = PositionStrategy::kShared);

/// The same with blocks that are groups of chunks, each chunk a segment that continues the one
/// before it, and any number of suffixes.
PackedLayout LayOutGroups(const std::vector<proto::TokenId>& prefix,
                          const std::vector<std::vector<std::vector<proto::TokenId>>>& groups,
                          const std::vector<std::vector<proto::TokenId>>& suffixes,
                          PositionStrategy strategy = PositionStrategy::kShared);

}  // namespace scorecast::reference
