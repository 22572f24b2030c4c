#include "coordinator/schedule/pass/sequence_work.h"

#include <algorithm>
#include <cmath>

namespace scorecast::coordinator {

using proto::SegmentKind;

std::int64_t KeyCount::Next(SegmentKind kind, bool continues, std::int64_t rows) {
  chain_ = continues ? chain_ : 0;
  std::int64_t before = prefix_;
  switch (kind) {
    case SegmentKind::kPrefix:
      prefix_ += rows;
      return before;
    case SegmentKind::kBlock:
      before += chain_;
      blocks_ += rows;
      break;
    case SegmentKind::kSuffix:
      before += blocks_ + chain_;
      break;
  }
  chain_ += rows;
  return before;
}

std::int64_t KeyCount::Keys(std::int64_t before, std::int64_t begin, std::int64_t end) {
  const std::int64_t rows = end - begin;
  return rows * (before + begin) + rows * (rows + 1) / 2;
}

PassWork WorkOf(const proto::PackedSequence& sequence, std::span<const std::int32_t> stored) {
  PassWork work;
  KeyCount count;
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    const proto::Segment& segment = sequence.segments[i];
    const std::int64_t before = count.Next(segment.kind, segment.continues, segment.length);
    const std::int64_t begin = stored.empty() ? 0 : stored[i];
    work.rows += segment.length - begin;
    work.keys += KeyCount::Keys(before, begin, segment.length);
  }
  for (const proto::RowRead& read : sequence.reads) {
    work +=
        WorkOfRead(read, sequence.label_lists.at(static_cast<std::size_t>(read.label_list)).size());
  }
  return work;
}

std::int64_t RowsWithin(double seconds, const PassRates& rates, std::int64_t keys) {
  // `rows` solves seconds = rows * first + rows^2 * rates.key / 2.
  const double first = rates.row + rates.key * static_cast<double>(keys);
  const double root = std::sqrt(first * first + 2 * rates.key * std::max(seconds, 0.0));
  const double rows = 2 * std::max(seconds, 0.0) / (first + root);
  constexpr double kMost = 1e9;
  // If the rates are 0, or `seconds` is infinite, `rows` is infinite or not a number.
  return rows < kMost ? static_cast<std::int64_t>(rows) : static_cast<std::int64_t>(kMost);
}

}  // namespace scorecast::coordinator
