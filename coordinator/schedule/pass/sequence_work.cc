#include "coordinator/schedule/pass/sequence_work.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coordinator/schedule/pages/capacity.h"

namespace scorecast::coordinator {

using proto::SegmentKind;

namespace {

/// The sum of min(n, most) over n = 1 … count.
std::int64_t CappedSum(std::int64_t count, std::int64_t most) {
  const std::int64_t rising = std::clamp<std::int64_t>(count, 0, most);
  return rising * (rising + 1) / 2 + std::max<std::int64_t>(count - rising, 0) * most;
}

}  // namespace

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

std::int64_t KeyCount::Keys(std::int64_t before, std::int64_t begin, std::int64_t end,
                            const proto::KeyReach& reach) {
  // Of rows that each see up to `most` keys, themselves included.
  const auto within = [&](std::int64_t most) {
    if (!reach.both_sides) {
      return CappedSum(before + end, most) - CappedSum(before + begin, most);
    }
    // Each row sees itself, and up to most - 1 keys to each side.
    const std::int64_t earlier = CappedSum(end - 1, most - 1) - CappedSum(begin - 1, most - 1);
    const std::int64_t later = CappedSum(end - begin - 1, most - 1);
    return end - begin + earlier + later;
  };
  const std::int64_t all = within(std::numeric_limits<std::int32_t>::max());
  if (reach.windowed_share == 0) {
    return all;
  }
  return std::llround((1 - reach.windowed_share) * static_cast<double>(all) +
                      reach.windowed_share * static_cast<double>(within(reach.window)));
}

PassWork WorkOf(const proto::PackedSequence& sequence, const proto::KeyReach& reach,
                std::span<const std::int32_t> stored) {
  PassWork work;
  KeyCount count;
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    const proto::Segment& segment = sequence.segments[i];
    const std::int64_t before = count.Next(segment.kind, segment.continues, segment.length);
    const std::int64_t begin = stored.empty() ? 0 : stored[i];
    work.rows += segment.length - begin;
    work.keys += KeyCount::Keys(before, begin, segment.length, reach);
  }
  for (const proto::RowRead& read : sequence.reads) {
    work += WorkOfRead(read, LabelCount(sequence, read));
  }
  return work;
}

std::int64_t RowsWithin(double seconds, const PassRates& rates, std::int64_t before,
                        const proto::KeyReach& reach) {
  std::int64_t rows = 0;
  for (std::int64_t step = std::int64_t{1} << 29; step > 0; step /= 2) {
    const std::int64_t more = rows + step;
    if (rates.Seconds({.rows = more, .keys = KeyCount::Keys(before, 0, more, reach)}) <= seconds) {
      rows = more;
    }
  }
  return rows;
}

}  // namespace scorecast::coordinator
