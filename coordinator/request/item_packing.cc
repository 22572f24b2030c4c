#include "coordinator/request/item_packing.h"

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::PackedSequence;
using proto::SegmentKind;
using proto::TokenId;

PackedSequence PackItems(const std::vector<TokenId>& prefix,
                         const std::vector<std::vector<TokenId>>& items) {
  PackedSequence sequence;
  const auto prefix_length = static_cast<std::int32_t>(prefix.size());
  sequence.tokens = prefix;
  sequence.segments.push_back({SegmentKind::kPrefix, prefix_length, 0});
  for (const std::vector<TokenId>& item : items) {
    if (item.empty()) {
      continue;
    }
    sequence.tokens.insert(sequence.tokens.end(), item.begin(), item.end());
    sequence.segments.push_back(
        {SegmentKind::kBlock, static_cast<std::int32_t>(item.size()), prefix_length});
  }
  return sequence;
}

std::vector<std::int32_t> LastRowOfEachItem(std::int32_t prefix_length,
                                            const std::vector<std::vector<TokenId>>& items) {
  proto::Check(prefix_length > 0, "a packed sequence has a prefix");
  std::vector<std::int32_t> rows;
  rows.reserve(items.size());
  std::int32_t end = prefix_length;
  for (const std::vector<TokenId>& item : items) {
    end += static_cast<std::int32_t>(item.size());
    rows.push_back(item.empty() ? prefix_length - 1 : end - 1);
  }
  return rows;
}

}  // namespace scorecast::coordinator
