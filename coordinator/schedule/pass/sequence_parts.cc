#include "coordinator/schedule/pass/sequence_parts.h"

#include <algorithm>

#include "coordinator/schedule/pages/kept_segments.h"

namespace scorecast::coordinator {

using proto::SegmentKind;

std::vector<SequencePart> PartsOf(const proto::PackedSequence& sequence,
                                  const proto::PlanLimits& limits,
                                  std::span<const Generation> generations) {
  const std::vector<bool> must_be_kept = MustBeKept(sequence, limits, generations);
  const bool has_suffix =
      !sequence.segments.empty() && sequence.segments.back().kind == SegmentKind::kSuffix;
  std::vector<SequencePart> parts;
  std::vector<std::int32_t> first_rows;  // [parts], within the sequence
  const std::vector<proto::TokenId> tokens = sequence.AllTokens();
  const std::vector<std::uint8_t> types = sequence.AllTokenTypes();
  auto token = tokens.cbegin();
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    SequencePart& part = parts.emplace_back();
    part.segment = sequence.segments[i];
    first_rows.push_back(static_cast<std::int32_t>(token - tokens.cbegin()));
    part.tokens.assign(token, token + part.segment.length);
    if (!types.empty()) {
      const auto type = types.cbegin() + first_rows.back();
      part.token_types.assign(type, type + part.segment.length);
    }
    token += part.segment.length;
    part.must_be_kept = must_be_kept[i];
    part.is_shared = part.segment.kind == SegmentKind::kPrefix ||
                     (part.segment.kind == SegmentKind::kBlock && has_suffix);
  }
  for (std::size_t i = 0; i < sequence.reads.size(); ++i) {
    const proto::RowRead& read = sequence.reads[i];
    const std::int32_t first_row = read.is_pooled() ? read.first_row : read.row;
    const auto part = static_cast<std::size_t>(
        std::upper_bound(first_rows.begin(), first_rows.end(), first_row) - first_rows.begin() - 1);
    for (std::int32_t row = first_row; row <= read.row; ++row) {
      parts[part].reads.push_back({row - first_rows[part], static_cast<std::int32_t>(i)});
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
