#include "shard/model/pass_cut.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

namespace scorecast::shard {
namespace {

using proto::PlanSegment;

const PlanSegment& SegmentOf(const proto::ForwardPlan& plan, const RowPlace& row) {
  return plan.sequences[static_cast<std::size_t>(row.sequence)]
      .segments[static_cast<std::size_t>(row.segment)];
}

/// Whether a part may begin with `row`, which follows `last`. Inside a segment, a part ends with a
/// whole granule of keys, because attention reads no less.
bool IsBorder(const RowPlace& last, const RowPlace& row, bool bidirectional) {
  if (bidirectional || row.sequence != last.sequence) {
    return row.sequence != last.sequence;
  }
  return row.segment != last.segment || row.row_in_segment % proto::kKvGranule == 0;
}

/// Granules of K/V storage: in which of the storages, and their number there.
using Granule = std::pair<bool, std::int32_t>;

Granule GranuleOf(const PlanSegment& segment, std::int32_t row) {
  return {segment.kv.kept, (segment.kv.first + row) / proto::kKvGranule};
}

/// Granules to which rows write their keys and values, in ascending order.
std::vector<Granule> Written(const proto::ForwardPlan& plan, std::span<const RowPlace> rows) {
  std::vector<Granule> granules;
  for (const RowPlace& row : rows) {
    const PlanSegment& segment = SegmentOf(plan, row);
    if (row.row_in_segment >= segment.stored) {
      const Granule granule = GranuleOf(segment, row.row_in_segment);
      if (granules.empty() || granules.back() != granule) {
        granules.push_back(granule);
      }
    }
  }
  std::ranges::sort(granules);
  return granules;
}

/// Whether rows before `cut` see keys that rows from `cut` on write. A sequence may see pages that
/// another one computes.
bool SeesLaterRows(const proto::ForwardPlan& plan, std::span<const RowPlace> rows,
                   std::size_t cut) {
  const std::vector<Granule> written = Written(plan, rows.subspan(cut));
  const RowPlace& last = rows[cut - 1];
  for (std::int32_t q = rows.front().sequence; q <= last.sequence; ++q) {
    const std::vector<PlanSegment>& segments = plan.sequences[static_cast<std::size_t>(q)].segments;
    const bool is_last = q == last.sequence;
    const auto end = is_last ? static_cast<std::size_t>(last.segment) + 1 : segments.size();
    for (std::size_t s = 0; s < end; ++s) {
      const std::int32_t keys =
          is_last && s + 1 == end ? last.row_in_segment + 1 : segments[s].keys();
      const auto next = std::ranges::lower_bound(written, GranuleOf(segments[s], 0));
      if (keys > 0 && next != written.end() && *next <= GranuleOf(segments[s], keys - 1)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> CutOfPass(const proto::ForwardPlan& plan, const RowMap& rows,
                                      bool bidirectional) {
  const std::span<const RowPlace> places = rows.rows();
  if (plan.step || static_cast<std::int64_t>(places.size()) < kLeastRowsOfCutPass) {
    return std::nullopt;
  }
  // The border nearest to the middle. A part of less than a quarter of the rows would save little.
  const std::size_t middle = places.size() / 2;
  for (std::size_t distance = 0; distance <= places.size() / 4; ++distance) {
    for (const std::size_t cut : {middle - distance, middle + distance}) {
      if (IsBorder(places[cut - 1], places[cut], bidirectional)) {
        return SeesLaterRows(plan, places, cut) ? std::nullopt
                                                : std::optional(static_cast<std::int64_t>(cut));
      }
    }
  }
  return std::nullopt;
}

}  // namespace scorecast::shard
