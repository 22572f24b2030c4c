#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/plan/forward_plan.h"

namespace scorecast::shard {

/// Where a computed row stands: the plan's segments seen from its rows.
struct RowPlace {
  std::int32_t sequence = 0;
  std::int32_t segment = 0;         ///< Within the sequence.
  std::int32_t chain_begin = 0;     ///< First segment of its chain: see proto::Segment::continues.
  std::int32_t row_in_segment = 0;  ///< Its key's row in the segment's K/V.
  std::int32_t position = 0;
};

/// Some rows of one sequence that are attended together.
struct RowTile {
  std::int32_t first_row = 0;  ///< Among the map's rows.
  std::int32_t rows = 0;
};

/// Rows of a plan, one by one and in tiles. O(rows), made once a pass and reused.
class RowMap {
 public:
  /// Of at most this many rows a tile.
  static constexpr std::int32_t kTileRowLimit = 24;

  /// Room for plans of `max_rows`, so that Assign allocates nothing.
  explicit RowMap(std::int64_t max_rows);

  /// All computed rows.
  void Assign(const proto::ForwardPlan& plan);
  /// Some rows of `all`, in ascending order.
  void Select(const RowMap& all, std::span<const std::int32_t> rows);

  std::span<const RowPlace> rows() const { return rows_; }
  std::span<const RowTile> tiles() const { return tiles_; }

 private:
  void CutIntoTiles();

  std::vector<RowPlace> rows_;
  std::vector<RowTile> tiles_;
};

}  // namespace scorecast::shard
