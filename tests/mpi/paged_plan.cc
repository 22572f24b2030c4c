#include "tests/mpi/paged_plan.h"

#include <algorithm>
#include <random>
#include <stdexcept>

namespace scorecast::testing {

using proto::kKvPageRows;
using proto::PackedSequence;
using proto::PlanSegment;
using proto::Segment;

ScatteredPages::ScatteredPages(const proto::PlanLimits& limits, std::uint64_t seed) {
  for (std::int32_t row = 0; row + kKvPageRows <= limits.kept_kv_rows; row += kKvPageRows) {
    free_.push_back(row);
  }
  std::mt19937_64 random(seed);
  std::shuffle(free_.begin(), free_.end(), random);
}

std::int32_t ScatteredPages::Take() {
  if (free_.empty()) {
    throw std::logic_error("the test needs more pages than the limits have");
  }
  const std::int32_t page = free_.back();
  free_.pop_back();
  return page;
}

void PagedSequence::Append(proto::TokenId token, ScatteredPages& free) {
  Segment& last = sequence.segments.back();
  if (last.length % kKvPageRows == 0) {
    pages.back().push_back(free.Take());
  }
  ++last.length;
  sequence.tokens.push_back(token);
}

PagedSequence InPages(const PackedSequence& sequence, ScatteredPages& free) {
  PagedSequence paged = {sequence, {}};
  for (const Segment& segment : sequence.segments) {
    std::vector<std::int32_t>& pages = paged.pages.emplace_back();
    for (std::int32_t row = 0; row < segment.length; row += kKvPageRows) {
      pages.push_back(free.Take());
    }
  }
  return paged;
}

std::vector<SegmentRows> RowsBetween(const PackedSequence& sequence, std::int32_t begin,
                                     std::int32_t end) {
  std::vector<SegmentRows> rows;
  std::int32_t first = 0;
  for (const Segment& segment : sequence.segments) {
    const std::int32_t from = std::clamp(begin - first, 0, segment.length);
    rows.push_back({from, from, std::clamp(end - first, 0, segment.length)});
    first += segment.length;
  }
  return rows;
}

std::int32_t SegmentBegin(const PackedSequence& sequence, std::size_t segment) {
  std::int32_t begin = 0;
  for (std::size_t s = 0; s < segment; ++s) {
    begin += sequence.segments[s].length;
  }
  return begin;
}

void PlanMaker::AddWhole(const PackedSequence& sequence) {
  proto::PlanSequence& planned = plan_.sequences.emplace_back();
  planned.block_weighting = sequence.block_weighting;
  for (const Segment& segment : sequence.segments) {
    planned.segments.push_back({segment.kind,
                                segment.continues,
                                segment.first_position,
                                0,
                                0,
                                segment.length,
                                {false, pass_rows_}});
    pass_rows_ += proto::KvRows(segment.length);
  }
  const auto first_row = static_cast<std::int32_t>(plan_.tokens.size());
  plan_.tokens.insert(plan_.tokens.end(), sequence.tokens.begin(), sequence.tokens.end());
  AddReads(sequence, RowsBetween(sequence, 0, static_cast<std::int32_t>(sequence.rows())),
           first_row);
}

std::vector<std::size_t> PlanMaker::Add(const PagedSequence& paged,
                                        const std::vector<SegmentRows>& rows) {
  const PackedSequence& sequence = paged.sequence;
  const auto first_row = static_cast<std::int32_t>(plan_.tokens.size());
  proto::PlanSequence& planned = plan_.sequences.emplace_back();
  planned.block_weighting = sequence.block_weighting;
  auto token = sequence.tokens.begin();
  for (std::size_t s = 0; s < sequence.segments.size(); ++s) {
    const Segment& segment = sequence.segments[s];
    std::int32_t first = 0;  // First row of the page, among the segment's rows.
    for (const std::int32_t page : paged.pages[s]) {
      const auto in_page = [&](std::int32_t row) {
        return std::clamp(row - first, 0, kKvPageRows);
      };
      if (first < rows[s].end) {
        planned.segments.push_back({segment.kind,
                                    segment.continues || first > 0,
                                    segment.first_position + first,
                                    in_page(rows[s].begin),
                                    in_page(rows[s].stored),
                                    in_page(rows[s].end),
                                    {true, page}});
      }
      first += kKvPageRows;
    }
    plan_.tokens.insert(plan_.tokens.end(), token + rows[s].begin, token + rows[s].end);
    token += segment.length;
  }
  return AddReads(sequence, rows, first_row);
}

proto::ForwardPlan PlanMaker::Take() const {
  proto::ForwardPlan plan = plan_;
  plan.bucket = proto::TokenBucket(static_cast<std::int64_t>(plan.tokens.size()));
  plan.read_bucket = proto::TokenBucket(static_cast<std::int64_t>(plan.reads.size()));
  return plan;
}

std::vector<std::size_t> PlanMaker::AddReads(const PackedSequence& sequence,
                                             const std::vector<SegmentRows>& rows,
                                             std::int32_t first_row) {
  const auto first_list = static_cast<std::int32_t>(plan_.label_lists.size());
  plan_.label_lists.insert(plan_.label_lists.end(), sequence.label_lists.begin(),
                           sequence.label_lists.end());
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < sequence.reads.size(); ++i) {
    const proto::RowRead& read = sequence.reads[i];
    std::int32_t row_in_segment = read.row;
    std::int32_t plan_row = first_row;
    std::size_t s = 0;
    while (row_in_segment >= sequence.segments[s].length) {
      row_in_segment -= sequence.segments[s].length;
      plan_row += rows[s].end - rows[s].begin;
      ++s;
    }
    if (rows[s].begin <= row_in_segment && row_in_segment < rows[s].end) {
      plan_.reads.push_back({plan_row + row_in_segment - rows[s].begin,
                             first_list + read.label_list, read.normalizer, read.top_k,
                             read.temperature, read.draw, read.target, read.excludes_labels,
                             read.ranks_target, read.bin_width, read.masses});
      found.push_back(i);
    }
  }
  return found;
}

PackedSequence Pack(const reference::PackedLayout& layout, const proto::BlockWeighting& weighting) {
  PackedSequence sequence;
  sequence.tokens = layout.tokens;
  sequence.block_weighting = weighting;
  bool has_chain = false;  // The sequence has a segment of the current chain.
  for (Segment segment : layout.segments) {
    has_chain = has_chain && segment.continues;
    if (segment.length > 0) {
      segment.continues = has_chain;
      sequence.segments.push_back(segment);
      has_chain = true;
    }
  }
  return sequence;
}

}  // namespace scorecast::testing
