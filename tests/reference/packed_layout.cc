#include "tests/reference/packed_layout.h"

#include <algorithm>

namespace scorecast::reference {

PackedLayout LayOut(const std::vector<proto::TokenId>& prefix,
                    const std::vector<std::vector<proto::TokenId>>& blocks,
                    const std::vector<proto::TokenId>& suffix, PositionStrategy strategy) {
  PackedLayout layout;
  const auto prefix_length = static_cast<std::int32_t>(prefix.size());
  const auto add = [&](proto::SegmentKind kind, const std::vector<proto::TokenId>& tokens,
                       std::int32_t shared_position) {
    const auto place = static_cast<std::int32_t>(layout.tokens.size());
    const auto length = static_cast<std::int32_t>(tokens.size());
    const bool shared = strategy == PositionStrategy::kShared;
    layout.tokens.insert(layout.tokens.end(), tokens.begin(), tokens.end());
    layout.segments.push_back({kind, length, shared ? shared_position : place});
    layout.last_rows.push_back(tokens.empty() ? prefix_length - 1 : place + length - 1);
  };

  add(proto::SegmentKind::kPrefix, prefix, 0);
  std::int32_t longest_block = 0;
  for (const std::vector<proto::TokenId>& block : blocks) {
    add(proto::SegmentKind::kBlock, block, prefix_length);
    longest_block = std::max(longest_block, static_cast<std::int32_t>(block.size()));
  }
  if (!suffix.empty()) {
    add(proto::SegmentKind::kSuffix, suffix, prefix_length + longest_block);
  }
  return layout;
}

}  // namespace scorecast::reference
