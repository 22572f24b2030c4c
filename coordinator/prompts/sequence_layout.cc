#include "coordinator/prompts/sequence_layout.h"

#include <algorithm>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::PackedSequence;
using proto::SegmentKind;
using proto::TokenId;

namespace {

void AppendSegment(SegmentKind kind, const std::vector<TokenId>& tokens,
                   std::int32_t first_position, bool continues, PackedSequence& sequence) {
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  sequence.segments.push_back(
      {kind, static_cast<std::int32_t>(tokens.size()), first_position, continues});
}

void AppendItems(std::span<const std::vector<TokenId>> items, std::int32_t first_position,
                 PackedSequence& sequence) {
  for (const std::vector<TokenId>& item : items) {
    if (!item.empty()) {
      AppendSegment(SegmentKind::kBlock, item, first_position, false, sequence);
    }
  }
}

/// How many tokens two lists have in common at their beginnings, or with reverse iterators at their
/// ends.
template <typename Iterator>
std::size_t CommonTokens(Iterator a, Iterator a_end, Iterator b, Iterator b_end) {
  return static_cast<std::size_t>(std::mismatch(a, a_end, b, b_end).first - a);
}

}  // namespace

PackedSequence PackItems(const SharedIds& prefix, std::span<const std::vector<TokenId>> items) {
  PackedSequence sequence;
  sequence.shared = {.list = prefix, .first = 0, .count = prefix->size(), .are_last = false};
  const auto length = static_cast<std::int32_t>(prefix->size());
  sequence.segments.push_back({SegmentKind::kPrefix, length, 0});
  AppendItems(items, length, sequence);
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

PackedSequence PackPrompt(const std::vector<TokenId>& prompt, const SharedIds& query) {
  const std::size_t at_begin =
      CommonTokens(prompt.begin(), prompt.end(), query->begin(), query->end());
  const std::size_t at_end =
      CommonTokens(prompt.rbegin(), prompt.rend(), query->rbegin(), query->rend());
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

PackedSequence PackHeadAndRest(std::vector<TokenId> head, const std::vector<TokenId>& rest,
                               const SharedIds& shared) {
  const std::size_t count =
      CommonTokens(rest.rbegin(), rest.rend(), shared->rbegin(), shared->rend());
  PackedSequence sequence;
  sequence.shared = {shared, shared->size() - count, count, /*are_last=*/true};
  const auto head_length = static_cast<std::int32_t>(head.size());
  const auto rest_length = static_cast<std::int32_t>(rest.size());
  if (head_length > 0) {
    sequence.segments.push_back({SegmentKind::kPrefix, head_length, 0});
  }
  sequence.segments.push_back(
      {head_length > 0 ? SegmentKind::kSuffix : SegmentKind::kPrefix, rest_length, head_length});
  sequence.tokens = std::move(head);
  sequence.tokens.insert(sequence.tokens.end(), rest.begin(),
                         rest.end() - static_cast<std::ptrdiff_t>(count));
  return sequence;
}

PackedSequence PackChunks(const std::vector<TokenId>& prefix, const std::vector<ChunkGroup>& groups,
                          const std::vector<std::vector<TokenId>>& questions,
                          ChunkPositionStrategy strategy) {
  PackedSequence sequence;
  if (!prefix.empty()) {
    AppendSegment(SegmentKind::kPrefix, prefix, 0, false, sequence);
  }
  const auto prefix_end = static_cast<std::int32_t>(prefix.size());
  std::int32_t begin = prefix_end;
  std::int32_t blocks_end = prefix_end;
  for (const ChunkGroup& group : groups) {
    std::int32_t position = begin;
    for (const std::vector<TokenId>& chunk : group) {
      if (!chunk.empty()) {
        AppendSegment(SegmentKind::kBlock, chunk, position, position > begin, sequence);
        position += static_cast<std::int32_t>(chunk.size());
      }
    }
    blocks_end = std::max(blocks_end, position);
    if (strategy == ChunkPositionStrategy::kOffset) {
      begin = position;
    }
  }
  for (const std::vector<TokenId>& question : questions) {
    proto::Check(!question.empty(), "a question has tokens");
    AppendSegment(SegmentKind::kSuffix, question, blocks_end, false, sequence);
  }
  return sequence;
}

}  // namespace scorecast::coordinator
