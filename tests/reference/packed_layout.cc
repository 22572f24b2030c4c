#include "tests/reference/packed_layout.h"

#include <algorithm>

namespace scorecast::reference {

PackedLayout LayOut(const std::vector<proto::TokenId>& prefix,
                    const std::vector<std::vector<proto::TokenId>>& blocks,
                    const std::vector<proto::TokenId>& suffix, PositionStrategy strategy) {
  std::vector<std::vector<std::vector<proto::TokenId>>> groups;
  for (const std::vector<proto::TokenId>& block : blocks) {
    groups.push_back({block});
  }
  std::vector<std::vector<proto::TokenId>> suffixes;
  if (!suffix.empty()) {
    suffixes.push_back(suffix);
  }
  return LayOutGroups(prefix, groups, suffixes, strategy);
}

PackedLayout LayOutGroups(const std::vector<proto::TokenId>& prefix,
                          const std::vector<std::vector<std::vector<proto::TokenId>>>& groups,
                          const std::vector<std::vector<proto::TokenId>>& suffixes,
                          PositionStrategy strategy) {
  PackedLayout layout;
  const auto prefix_length = static_cast<std::int32_t>(prefix.size());
  const auto rows = [&] { return static_cast<std::int32_t>(layout.tokens.size()); };
  const auto add = [&](proto::SegmentKind kind, const std::vector<proto::TokenId>& tokens,
                       std::int32_t position, bool continues) {
    const std::int32_t row_before = continues ? layout.last_rows.back() : prefix_length - 1;
    const auto length = static_cast<std::int32_t>(tokens.size());
    layout.tokens.insert(layout.tokens.end(), tokens.begin(), tokens.end());
    layout.segments.push_back({kind, length, position, continues});
    layout.last_rows.push_back(tokens.empty() ? row_before : rows() - 1);
  };

  add(proto::SegmentKind::kPrefix, prefix, 0, false);
  std::int32_t longest_group = 0;
  for (const std::vector<std::vector<proto::TokenId>>& group : groups) {
    const std::int32_t begin = rows();
    const std::int32_t position = strategy == PositionStrategy::kShared ? prefix_length : begin;
    for (std::size_t chunk = 0; chunk < group.size(); ++chunk) {
      add(proto::SegmentKind::kBlock, group[chunk], position + rows() - begin, chunk > 0);
    }
    longest_group = std::max(longest_group, rows() - begin);
  }
  const std::int32_t suffix_position =
      strategy == PositionStrategy::kShared ? prefix_length + longest_group : rows();
  for (const std::vector<proto::TokenId>& suffix : suffixes) {
    add(proto::SegmentKind::kSuffix, suffix, suffix_position, false);
  }
  return layout;
}

}  // namespace scorecast::reference
