#include "shard/attention/row_map.h"

#include "proto/base/check.h"

namespace scorecast::shard {

RowMap::RowMap(std::int64_t max_rows) {
  rows_.reserve(static_cast<std::size_t>(max_rows));
  tiles_.reserve(static_cast<std::size_t>(max_rows));
}

void RowMap::Assign(const proto::ForwardPlan& plan) {
  rows_.clear();
  for (std::size_t q = 0; q < plan.sequences.size(); ++q) {
    const std::vector<proto::PlanSegment>& segments = plan.sequences[q].segments;
    std::int32_t chain_begin = 0;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const proto::PlanSegment& segment = segments[s];
      proto::Check(segment.compute_begin <= segment.stored && segment.stored <= segment.compute_end,
                   "a segment has compute_begin <= stored <= compute_end");
      proto::Check(s > 0 || !segment.continues, "a sequence's first segment continues none");
      if (!segment.continues) {
        chain_begin = static_cast<std::int32_t>(s);
      }
      for (std::int32_t r = segment.compute_begin; r < segment.compute_end; ++r) {
        rows_.push_back({static_cast<std::int32_t>(q), static_cast<std::int32_t>(s), chain_begin, r,
                         segment.first_position + r});
      }
    }
  }
  proto::Check(rows_.size() == plan.tokens.size(), "a plan has one token for each computed row");
  CutIntoTiles();
}

void RowMap::Select(const RowMap& all, proto::Range rows) {
  rows_.assign(all.rows_.begin() + rows.begin, all.rows_.begin() + rows.end);
  CutIntoTiles();
}

void RowMap::Select(const RowMap& all, std::span<const std::int32_t> rows) {
  rows_.clear();
  for (const std::int32_t row : rows) {
    rows_.push_back(all.rows_[static_cast<std::size_t>(row)]);
  }
  CutIntoTiles();
}

void RowMap::CutIntoTiles() {
  tiles_.clear();
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (row == 0 || tiles_.back().rows == kTileRowLimit ||
        rows_[row].sequence != rows_[row - 1].sequence) {
      tiles_.push_back({static_cast<std::int32_t>(row), 0});
    }
    ++tiles_.back().rows;
  }
}

}  // namespace scorecast::shard
