#include "coordinator/schedule/pages/extents.h"

#include <algorithm>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::kKvGranule;
using proto::kKvPageRows;

void ExtentCounts::AddRows(std::int64_t rows) {
  AddPages(rows / kKvPageRows);
  if (const auto rest = static_cast<std::int32_t>(rows % kKvPageRows); rest > 0) {
    ++counts_[Index(proto::KvRows(rest))];
  }
}

void ExtentCounts::Remove(std::int32_t rows, std::int64_t count) {
  std::int64_t& left = counts_[Index(rows)];
  left = std::max<std::int64_t>(left - count, 0);
}

std::int64_t ExtentCounts::pages() const {
  static_assert(kKvPageRows == 4 * kKvGranule);
  const auto [ones, twos, threes, fours] = counts_;
  // A page with three granules taken has room for one more, the last of an odd number of pairs
  // leaves room for two.
  const std::int64_t room_for_ones = threes + twos % 2 * 2;
  const std::int64_t ones_left = std::max<std::int64_t>(ones - room_for_ones, 0);
  return fours + threes + (twos + 1) / 2 + (ones_left + 3) / 4;
}

Extent ExtentPool::Take(std::int32_t rows) {
  std::vector<Extent>& extents = extents_[Index(rows)];
  proto::Check(!extents.empty(), "an extent of the wanted size is in the pool");
  const Extent extent = extents.back();
  extents.pop_back();
  return extent;
}

Extent ExtentPool::Cut(std::int32_t rows) {
  std::int32_t size = rows;
  while (size < kKvPageRows && count(size) == 0) {
    size += kKvGranule;
  }
  const Extent extent = Take(size);
  if (size > rows) {
    Add({extent.first + rows, size - rows});
  }
  return {extent.first, rows};
}

std::vector<Extent> ExtentPool::TakeAll() {
  std::vector<Extent> all;
  for (std::vector<Extent>& extents : extents_) {
    all.insert(all.end(), extents.begin(), extents.end());
    extents.clear();
  }
  return all;
}

}  // namespace scorecast::coordinator
