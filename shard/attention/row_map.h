#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/base/range.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::shard {

/// Place of a computed row among the plan's segments.
struct RowPlace {
  std::int32_t sequence = 0;
  std::int32_t segment = 0;  ///< Index within the sequence.
  /// Index of the first segment of its chain: see proto::Segment::continues.
  std::int32_t chain_begin = 0;
  std::int32_t row_in_segment = 0;  ///< Its row in the segment's K/V.
  std::int32_t position = 0;
};

/// Rows of one sequence that are attended together.
struct RowTile {
  std::int32_t first_row = 0;  ///< Index into the map's rows.
  std::int32_t rows = 0;
};

/// Rows of a plan, one by one and in tiles. O(rows) to make; reused from pass to pass.
class RowMap {
 public:
  /// Largest number of rows in a tile.
  static constexpr std::int32_t kTileRowLimit = 24;

  /// Reserves memory for plans of `max_rows` rows, so that Assign does not allocate.
  explicit RowMap(std::int64_t max_rows);

  /// Takes all computed rows of `plan`.
  void Assign(const proto::ForwardPlan& plan);
  /// Takes some consecutive rows of `all`.
  void Select(const RowMap& all, proto::Range rows);
  /// Takes the rows of `all` with the indices `rows`, which ascend.
  void Select(const RowMap& all, std::span<const std::int32_t> rows);

  std::span<const RowPlace> rows() const { return rows_; }
  std::span<const RowTile> tiles() const { return tiles_; }

 private:
  void CutIntoTiles();

  std::vector<RowPlace> rows_;
  std::vector<RowTile> tiles_;
};

}  // namespace scorecast::shard
