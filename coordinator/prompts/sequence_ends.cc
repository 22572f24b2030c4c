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

std::vector<Generation> AddCompletions(std::int64_t max_new_tokens, PackedSequence& sequence) {
  std::vector<Generation> completions;
  for (const SequenceEnd& end : EndsOf(sequence)) {
    std::size_t segment = end.segment;
    if (sequence.segments[segment].kind != SegmentKind::kSuffix) {
      segment = sequence.segments.size();
      sequence.segments.push_back(
          {SegmentKind::kSuffix, 0, static_cast<std::int32_t>(sequence.rows())});
    }
    completions.push_back({0, segment, max_new_tokens, /*chooser=*/nullptr});
  }
  return completions;
}

}  // namespace scorecast::coordinator
