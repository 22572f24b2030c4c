#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"
#include "tests/reference/packed_layout.h"

namespace scorecast::testing {

/// Deals out kept pages in a scattered order, like a cache that has been in use for a long time.
class ScatteredPages {
 public:
  ScatteredPages(const proto::PlanLimits& limits, std::uint64_t seed);

  /// The first row of a page not dealt out before. Throws std::logic_error if there is none.
  std::int32_t Take();

 private:
  std::vector<std::int32_t> free_;
};

/// A packed sequence with its K/V in kept pages. No segment is empty.
struct PagedSequence {
  proto::PackedSequence sequence;
  std::vector<std::vector<std::int32_t>> pages;  ///< [segments][pages]: their first rows.

  /// Adds a row to the last segment, and a page if it needs one.
  void Append(proto::TokenId token, ScatteredPages& free);
};

PagedSequence InPages(const proto::PackedSequence& sequence, ScatteredPages& free);

/// A plan's part in a segment: it computes rows [begin, end). Rows before `stored` have their K/V
/// already; rows from `end` on are left to later plans.
struct SegmentRows {
  std::int32_t begin = 0;
  std::int32_t stored = 0;
  std::int32_t end = 0;
};

/// [segments]: the rows for a plan that computes rows [begin, end) of the sequence, if all rows
/// before them are stored.
std::vector<SegmentRows> RowsBetween(const proto::PackedSequence& sequence, std::int32_t begin,
                                     std::int32_t end);

/// Index in the sequence of the segment's first row.
std::int32_t SegmentBegin(const proto::PackedSequence& sequence, std::size_t segment);

/// Makes plans by hand.
class PlanMaker {
 public:
  /// Adds all rows and reads. K/V is pass-local, each segment in one piece.
  void AddWhole(const proto::PackedSequence& sequence);
  /// Adds rows [segments]. Leaves out segments whose `end` is 0, and reads of rows that are not
  /// computed. Returns the indices of the other reads, in the plan's order.
  std::vector<std::size_t> Add(const PagedSequence& paged, const std::vector<SegmentRows>& rows);
  void AddCopy(const proto::KvCopy& copy) { plan_.copies.push_back(copy); }
  proto::ForwardPlan Take() const;

 private:
  std::vector<std::size_t> AddReads(const proto::PackedSequence& sequence,
                                    const std::vector<SegmentRows>& rows, std::int32_t first_row);

  proto::ForwardPlan plan_;
  std::int32_t pass_rows_ = 0;
};

/// The layout as a sequence without empty segments and without reads.
proto::PackedSequence Pack(const reference::PackedLayout& layout,
                           const proto::BlockWeighting& weighting = {});

}  // namespace scorecast::testing
