#include "shard/attention/row_map.h"

#include <algorithm>

#include "proto/base/check.h"

namespace scorecast::shard {

RowMap::RowMap(std::int64_t max_rows) {
  rows_.reserve(static_cast<std::size_t>(max_rows));
  tiles_.reserve(static_cast<std::size_t>(max_rows));
}

void RowMap::Assign(const proto::ForwardPlan& plan) {
  rows_.clear();
  tiles_.clear();
  for (std::size_t q = 0; q < plan.sequences.size(); ++q) {
    const auto first_row = static_cast<std::int32_t>(rows_.size());
    const std::vector<proto::PlanSegment>& segments = plan.sequences[q].segments;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const proto::PlanSegment& segment = segments[s];
      for (std::int32_t r = segment.compute_begin; r < segment.compute_end; ++r) {
        rows_.push_back({static_cast<std::int32_t>(q), static_cast<std::int32_t>(s), r,
                         segment.first_position + r});
      }
    }
    const auto end_row = static_cast<std::int32_t>(rows_.size());
    for (std::int32_t row = first_row; row < end_row; row += kTileRowLimit) {
      tiles_.push_back({row, std::min(kTileRowLimit, end_row - row)});
    }
  }
  proto::Check(rows_.size() == plan.tokens.size(), "a plan has one token a computed row");
}

}  // namespace scorecast::shard
