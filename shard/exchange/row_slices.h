#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/base/range.h"

namespace scorecast::shard {

struct RowSizes {
  std::int64_t max_rows = 0;
  std::int64_t summand_bytes = 0;  ///< Bytes of one row of one rank's summands.
  std::int64_t shared_bytes = 0;   ///< Most bytes of one finished row.

  /// Most rows that one of `ranks` ranks may own.
  std::int64_t MostOwnRows(int ranks) const { return (max_rows + ranks - 1) / ranks; }
};

/// The owner of each of some consecutive rows: rank r owns rows [bounds[r], bounds[r + 1]).
struct RowSlices {
  std::vector<std::int64_t> bounds;  ///< [ranks + 1]

  std::int64_t rows() const { return bounds.back() - bounds.front(); }
  proto::Range Of(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return {bounds[r], bounds[r + 1]};
  }
};

/// One part of every shared row, such as its data or its scale. The parts of consecutive rows
/// follow each other in the shared memory.
struct RowPlane {
  std::byte* data = nullptr;
  std::int64_t row_bytes = 0;
};

}  // namespace scorecast::shard
