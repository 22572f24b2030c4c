#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/plan/forward_plan.h"

namespace scorecast::coordinator {

/// Rows of kept K/V storage, in whole granules, that lie in one page: a page, or a part of one for
/// K/V of fewer rows.
struct Extent {
  std::int32_t first = 0;  ///< Counted in rows of all pages.
  std::int32_t rows = 0;   ///< A multiple of kKvGranule, at most kKvPageRows.

  /// The number of the page that it lies in.
  std::int32_t page() const { return first / proto::kKvPageRows; }
  bool operator==(const Extent&) const = default;
};

/// Number of extents of each size.
class ExtentCounts {
 public:
  /// Adds those that hold `rows` rows: whole pages, then an extent for the rows that do not fill
  /// one.
  void AddRows(std::int64_t rows);
  void AddPages(std::int64_t pages) { counts_.back() += pages; }
  void Remove(std::int32_t rows, std::int64_t count);
  /// Number of extents of `rows` rows, a multiple of kKvGranule.
  std::int64_t of(std::int32_t rows) const { return counts_[Index(rows)]; }
  /// The fewest pages that can be cut into these extents.
  std::int64_t pages() const;

 private:
  static std::size_t Index(std::int32_t rows) {
    return static_cast<std::size_t>(rows / proto::kKvGranule - 1);
  }

  std::array<std::int64_t, proto::kKvPageRows / proto::kKvGranule> counts_ = {};
};

/// Extents that can be taken out one by one.
class ExtentPool {
 public:
  void Add(const Extent& extent) { extents_[Index(extent.rows)].push_back(extent); }
  /// Takes an extent of exactly `rows` rows, of which there must be one.
  Extent Take(std::int32_t rows);
  /// Takes the smallest extent that has at least `rows` rows, of which there must be one. What it
  /// has beyond them stays in the pool.
  Extent Cut(std::int32_t rows);
  std::int64_t count(std::int32_t rows) const {
    return static_cast<std::int64_t>(extents_[Index(rows)].size());
  }
  std::vector<Extent> TakeAll();

 private:
  static std::size_t Index(std::int32_t rows) {
    return static_cast<std::size_t>(rows / proto::kKvGranule - 1);
  }

  std::array<std::vector<Extent>, proto::kKvPageRows / proto::kKvGranule> extents_;
};

}  // namespace scorecast::coordinator
