#include "coordinator/prompts/sequence_ends.h"

namespace scorecast::coordinator {

using proto::PackedSequence;
using proto::SegmentKind;

std::vector<SequenceEnd> EndsOf(const PackedSequence& sequence) {
  std::vector<SequenceEnd> ends;
  std::int32_t end = 0;
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    const proto::Segment& segment = sequence.segments[i];
    end += segment.length;
    if (segment.kind == SegmentKind::kSuffix && segment.length > 0) {
      ends.push_back({i, end - 1});
    }
  }
  if (ends.empty()) {
    ends.push_back({0, end - 1});
  }
  return ends;
}

std::vector<Generation> AddCompletions(std::int64_t max_new_tokens, std::int64_t count,
                                       PackedSequence& sequence) {
  std::vector<Generation> completions;
  for (const SequenceEnd& end : EndsOf(sequence)) {
    const proto::Segment last = sequence.segments[end.segment];
    const bool is_suffix = last.kind == SegmentKind::kSuffix;
    const std::vector<proto::TokenId> question(
        sequence.tokens.begin() + (is_suffix ? end.row + 1 - last.length : 0),
        sequence.tokens.begin() + (is_suffix ? end.row + 1 : 0));
    for (std::int64_t i = 0; i < count; ++i) {
      std::size_t segment = end.segment;
      if (i > 0 || !is_suffix) {
        segment = sequence.segments.size();
        sequence.segments.push_back(
            {SegmentKind::kSuffix, static_cast<std::int32_t>(question.size()),
             is_suffix ? last.first_position : static_cast<std::int32_t>(end.row + 1)});
        sequence.tokens.insert(sequence.tokens.end(), question.begin(), question.end());
      }
      completions.push_back({0, segment, max_new_tokens, /*chooser=*/nullptr});
    }
  }
  return completions;
}

}  // namespace scorecast::coordinator
