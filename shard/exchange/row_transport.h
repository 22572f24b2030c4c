#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/base/range.h"

namespace scorecast::shard {

struct RowSizes {
  std::int64_t max_rows = 0;
  std::int64_t summand_bytes = 0;  ///< Of one row of one rank's summands.
  std::int64_t shared_bytes = 0;   ///< Of one finished row, at most.
};

/// Who owns which of some rows: rank r those of [bounds[r], bounds[r + 1]), in rank order.
struct RowSlices {
  std::vector<std::int64_t> bounds;  ///< [ranks + 1]

  std::int64_t rows() const { return bounds.back(); }
  proto::Range Of(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return {bounds[r], bounds[r + 1]};
  }
};

/// A part of every shared row: rows of it lie dense in the shared memory.
struct RowPlane {
  std::byte* data = nullptr;
  std::int64_t row_bytes = 0;
};

/// How a RowExchange's rows get from rank to rank: its buffers and its two calls.
class RowTransport {
 public:
  virtual ~RowTransport() = default;
  virtual std::byte* summands() = 0;
  virtual std::byte* shared_rows() = 0;
  virtual const std::byte* part(int rank) const = 0;
  virtual void ExchangeSummands(const RowSlices& owners) = 0;
  virtual void ShareRows(const RowSlices& owners, std::span<const RowPlane> planes) = 0;
};

}  // namespace scorecast::shard
