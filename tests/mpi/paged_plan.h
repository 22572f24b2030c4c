#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"
#include "tests/reference/packed_layout.h"

namespace scorecast::testing {

/// Kept pages in a scattered order, as a store that has been in use for long deals them out.
class ScatteredPages {
 public:
  ScatteredPages(const proto::PlanLimits& limits, std::uint64_t seed);

  /// The first row of a page that nobody has yet.
  std::int32_t Take();

 private:
  std::vector<std::int32_t> free_;
};

/// A packed sequence whose K/V lies in kept pages. No segment is empty.
struct PagedSequence {
  proto::PackedSequence sequence;
  std::vector<std::vector<std::int32_t>> pages;  ///< [segments][pages]: their first rows.

  /// One more row of the last segment.
  void Append(proto::TokenId token, ScatteredPages& free);
};

PagedSequence InPages(const proto::PackedSequence& sequence, ScatteredPages& free);

/// What a plan has to do with a segment: its rows before `stored` have their K/V, it computes
/// [begin, end), and those behind `end` are not there yet.
struct SegmentRows {
  std::int32_t begin = 0;
  std::int32_t stored = 0;
  std::int32_t end = 0;
};

/// Rows [begin, end) of the sequence are computed, all before them are stored: [segments].
std::vector<SegmentRows> RowsBetween(const proto::PackedSequence& sequence, std::int32_t begin,
                                     std::int32_t end);

/// A segment's first row, among the sequence's.
std::int32_t SegmentBegin(const proto::PackedSequence& sequence, std::size_t segment);

/// Makes plans by hand.
class PlanMaker {
 public:
  /// All rows and reads, K/V in places of the pass, each segment in one piece.
  void AddWhole(const proto::PackedSequence& sequence);
  /// `rows`: [segments]; a segment whose `end` is 0 is left out. Reads of rows that are not
  /// computed are left out, too: returns which ones the plan has, in its order.
  std::vector<std::size_t> Add(const PagedSequence& paged, const std::vector<SegmentRows>& rows);
  void AddCopy(const proto::KvCopy& copy) { plan_.copies.push_back(copy); }
  proto::ForwardPlan Take() const;

 private:
  std::vector<std::size_t> AddReads(const proto::PackedSequence& sequence,
                                    const std::vector<SegmentRows>& rows, std::int32_t first_row);

  proto::ForwardPlan plan_;
  std::int32_t pass_rows_ = 0;
};

/// The layout without its empty segments, and nothing read.
proto::PackedSequence Pack(const reference::PackedLayout& layout,
                           const proto::BlockWeighting& weighting = {});

}  // namespace scorecast::testing
