#pragma once

#include <cstddef>
#include <cstdint>

#include "proto/base/range.h"

namespace scorecast::proto {

struct RowSizes {
  std::int64_t max_rows = 0;
  std::int64_t summand_bytes = 0;  ///< Of one row of one rank's summands.
  std::int64_t shared_bytes = 0;   ///< Of one finished row.
};

/// The rows of [0, rows) that a rank of `ranks` owns: contiguous, as even as it goes, in rank
/// order; may be empty.
inline Range RowsOf(int rank, int ranks, std::int64_t rows) {
  return {rows * rank / ranks, rows * (rank + 1) / ranks};
}

/// How a RowExchange's rows get from rank to rank: its buffers and its two calls.
class RowTransport {
 public:
  virtual ~RowTransport() = default;
  virtual std::byte* summands() = 0;
  virtual std::byte* shared_rows() = 0;
  virtual const std::byte* part(int rank) const = 0;
  virtual void ExchangeSummands(std::int64_t rows) = 0;
  virtual void ShareRows(std::int64_t rows) = 0;
};

}  // namespace scorecast::proto
