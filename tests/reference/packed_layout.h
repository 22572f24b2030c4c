#pragma once

#include <vector>

#include "proto/plan/packed_sequence.h"

namespace scorecast::reference {

/// `shared`: all blocks begin where the prefix ends and suffixes follow the longest block.
/// `offset`: positions are places.
enum class PositionStrategy { kShared, kOffset };

/// A prefix, blocks and at most one suffix laid out in rows, independently of production.
struct PackedLayout {
  std::vector<proto::TokenId> tokens;    ///< [rows]
  std::vector<proto::Segment> segments;  ///< The prefix, every block (empty ones too), the suffix.
  std::vector<std::int32_t> last_rows;   ///< Of each segment; for an empty block, of the prefix.
};

PackedLayout LayOut(const std::vector<proto::TokenId>& prefix,
                    const std::vector<std::vector<proto::TokenId>>& blocks,
                    const std::vector<proto::TokenId>& suffix = {},
                    PositionStrategy strategy = PositionStrategy::kShared);

}  // namespace scorecast::reference
