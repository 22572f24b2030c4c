#include "coordinator/request/item_packing.h"

#include <algorithm>
#include <cstddef>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::PackedSequence;
using proto::SegmentKind;
using proto::TokenId;

PackedSequence PackItems(const std::vector<TokenId>& prefix,
                         std::span<const std::vector<TokenId>> items) {
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

void SharePrefix(PackedSequence& sequence,
                 const std::shared_ptr<const std::vector<TokenId>>& prefix) {
  sequence.tokens.erase(sequence.tokens.begin(),
                        sequence.tokens.begin() + static_cast<std::ptrdiff_t>(prefix->size()));
  sequence.shared = {.list = prefix, .first = 0, .count = prefix->size(), .are_last = false};
}

PackedSequence PackPrompt(const std::vector<TokenId>& prompt,
                          const std::shared_ptr<const std::vector<TokenId>>& query) {
  const std::size_t most = std::min(prompt.size(), query->size());
  const auto length = static_cast<std::ptrdiff_t>(most);
  const auto at_begin = static_cast<std::size_t>(
      std::mismatch(prompt.begin(), prompt.begin() + length, query->begin()).first -
      prompt.begin());
  const auto at_end = static_cast<std::size_t>(
      std::mismatch(prompt.rbegin(), prompt.rbegin() + length, query->rbegin()).first -
      prompt.rbegin());
  PackedSequence sequence;
  proto::SharedTokens& shared = sequence.shared;
  shared.list = query;
  shared.count = std::max(at_begin, at_end);
  shared.are_last = at_end > at_begin;
  shared.first = shared.are_last ? query->size() - shared.count : 0;
  const std::size_t own_begin = shared.are_last ? 0 : shared.count;
  const auto own = std::span(prompt).subspan(own_begin, prompt.size() - shared.count);
  sequence.tokens.assign(own.begin(), own.end());
  sequence.segments.push_back({SegmentKind::kPrefix, static_cast<std::int32_t>(prompt.size()), 0});
  return sequence;
}

std::vector<std::int32_t> LastRowOfEachItem(std::int32_t prefix_length,
                                            std::span<const std::vector<TokenId>> items) {
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
