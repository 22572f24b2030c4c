#include "shard/checkpoint/hashed_block.h"

#include <algorithm>
#include <iterator>

#include "shard/checkpoint/crc32c.h"

namespace scorecast::shard {
namespace {

using proto::Range;

/// Adds a range that overlaps none of the others.
void Insert(Range range, std::vector<Range>& ranges) {
  auto next = std::ranges::lower_bound(ranges, range.begin, {}, &Range::begin);
  if (next != ranges.end() && next->begin == range.end) {
    range.end = next->end;
    next = ranges.erase(next);
  }
  if (next != ranges.begin() && std::prev(next)->end == range.begin) {
    std::prev(next)->end = range.end;
  } else {
    ranges.insert(next, range);
  }
}

}  // namespace

void HashedBlock::Add(std::int64_t offset, std::span<const std::byte> bytes) {
  const Range range = {std::max(bytes_.begin, offset),
                       std::min(bytes_.end, offset + static_cast<std::int64_t>(bytes.size()))};
  if (range.begin >= range.end) {
    return;
  }
  std::vector<Range> parts;
  {
    const std::lock_guard lock(mutex_);
    parts = MissingOf(range);
    for (const Range part : parts) {
      Insert(part, hashed_);
    }
  }
  for (const Range part : parts) {
    const std::uint32_t remainder =
        CrcRemainder(0, bytes.subspan(static_cast<std::size_t>(part.begin - offset),
                                      static_cast<std::size_t>(part.size())));
    remainder_ ^= WithZerosBehind(remainder, bytes_.end - part.end);
  }
}

std::vector<Range> HashedBlock::Missing() const {
  const std::lock_guard lock(mutex_);
  return MissingOf(bytes_);
}

std::vector<Range> HashedBlock::MissingOf(Range range) const {
  std::vector<Range> missing;
  for (auto next = std::ranges::upper_bound(hashed_, range.begin, {}, &Range::end);
       next != hashed_.end() && next->begin < range.end; ++next) {
    if (range.begin < next->begin) {
      missing.push_back({range.begin, next->begin});
    }
    range.begin = std::min(next->end, range.end);
  }
  if (!range.empty()) {
    missing.push_back(range);
  }
  return missing;
}

}  // namespace scorecast::shard
