#include "coordinator/schedule/pass/sequence_parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "coordinator/schedule/pages/kept_segments.h"

namespace scorecast::coordinator {

using proto::SegmentKind;
using proto::TokenId;

namespace {

/// The elements of a list that lie in [begin, end), if the first one is at `offset`.
template <typename T>
std::span<const T> Within(std::span<const T> list, std::int64_t offset, std::int64_t begin,
                          std::int64_t end) {
  const std::int64_t size = std::ssize(list);
  const std::int64_t first = std::clamp<std::int64_t>(begin - offset, 0, size);
  const std::int64_t last = std::clamp<std::int64_t>(end - offset, first, size);
  return list.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
}

}  // namespace

TokenSpans SequencePart::Tokens(std::int32_t begin, std::int32_t end) const {
  std::span<const TokenId> first = sequence->shared.ids();
  std::span<const TokenId> second = sequence->tokens;
  if (sequence->shared.are_last) {
    std::swap(first, second);
  }
  const std::int64_t prompt_begin = first_row + begin;
  const std::int64_t prompt_end = first_row + std::min(end, segment.length);
  return {Within(first, 0, prompt_begin, prompt_end),
          Within(second, std::ssize(first), prompt_begin, prompt_end),
          Within(std::span<const TokenId>(generated), segment.length, begin, end)};
}

std::vector<TokenId> SequencePart::CopiedTokens(std::int32_t begin, std::int32_t end) const {
  std::vector<TokenId> copied;
  copied.reserve(static_cast<std::size_t>(end - begin));
  for (const std::span<const TokenId> tokens : Tokens(begin, end)) {
    copied.insert(copied.end(), tokens.begin(), tokens.end());
  }
  return copied;
}

std::vector<std::uint8_t> SequencePart::TokenTypes(std::int32_t begin, std::int32_t end) const {
  if (sequence->token_types.empty()) {
    return {};
  }
  std::vector<std::uint8_t> types(static_cast<std::size_t>(end - begin));
  const std::int64_t own_begin =
      sequence->shared.are_last ? 0 : static_cast<std::int64_t>(sequence->shared.count);
  const auto own = Within(std::span<const std::uint8_t>(sequence->token_types), own_begin,
                          first_row + begin, first_row + std::min(end, segment.length));
  const std::int64_t before =
      std::clamp<std::int64_t>(own_begin - first_row - begin, 0, end - begin);
  std::ranges::copy(own, types.begin() + before);
  return types;
}

std::vector<SequencePart> PartsOf(const proto::PackedSequence& sequence,
                                  const proto::PlanLimits& limits,
                                  std::span<const Generation> generations) {
  const std::vector<bool> must_be_kept = MustBeKept(sequence, limits, generations);
  const bool has_suffix =
      !sequence.segments.empty() && sequence.segments.back().kind == SegmentKind::kSuffix;
  std::vector<SequencePart> parts;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    SequencePart& part = parts.emplace_back();
    part.segment = sequence.segments[i];
    part.sequence = &sequence;
    part.first_row = rows;
    rows += part.segment.length;
    part.must_be_kept = must_be_kept[i];
    part.is_shared = part.segment.kind == SegmentKind::kPrefix ||
                     (part.segment.kind == SegmentKind::kBlock && has_suffix);
  }
  for (std::size_t i = 0; i < sequence.reads.size(); ++i) {
    const proto::RowRead& read = sequence.reads[i];
    const std::int32_t first_row = read.is_pooled() ? read.first_row : read.row;
    SequencePart& part = *std::prev(
        std::ranges::upper_bound(parts, std::int64_t{first_row}, {}, &SequencePart::first_row));
    for (std::int32_t row = first_row; row <= read.row; ++row) {
      part.reads.push_back(
          {static_cast<std::int32_t>(row - part.first_row), static_cast<std::int32_t>(i)});
    }
  }
  for (SequencePart& part : parts) {
    std::stable_sort(part.reads.begin(), part.reads.end(),
                     [](const auto& a, const auto& b) { return a.row < b.row; });
  }
  for (const Generation& generation : generations) {
    parts[generation.segment].is_growing = true;
  }
  return parts;
}

std::size_t PrefixParts(std::span<const SequencePart> parts) {
  return static_cast<std::size_t>(std::count_if(parts.begin(), parts.end(), [](const auto& part) {
    return part.segment.kind == SegmentKind::kPrefix;
  }));
}

std::size_t ChainEnd(std::span<const SequencePart> parts, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < parts.size() && parts[end].segment.continues) {
    ++end;
  }
  return end;
}

}  // namespace scorecast::coordinator
