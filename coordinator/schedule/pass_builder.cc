#include "coordinator/schedule/pass_builder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::KvRows;
using proto::PackedSequence;
using proto::PlanLimits;
using proto::PlanSegment;
using proto::PlanSequence;
using proto::RowRead;
using proto::Segment;

PassCost& PassCost::operator+=(const PassCost& other) {
  rows += other.rows;
  reads += other.reads;
  kv_rows += other.kv_rows;
  return *this;
}

PassCost CostOf(const PackedSequence& sequence) {
  PassCost cost{sequence.rows(), static_cast<std::int64_t>(sequence.reads.size()), 0};
  for (const Segment& segment : sequence.segments) {
    cost.kv_rows += KvRows(segment.length);
  }
  return cost;
}

bool FitsPass(const PassCost& cost, const PlanLimits& limits) {
  return cost.rows <= limits.max_rows && cost.reads <= limits.max_reads &&
         cost.kv_rows <= limits.pass_kv_rows;
}

std::optional<proto::Error> CapacityFault(const PackedSequence& sequence,
                                          const PlanLimits& limits) {
  const PassCost cost = CostOf(sequence);
  if (FitsPass(cost, limits)) {
    return std::nullopt;
  }
  if (cost.kv_rows > limits.kept_kv_rows) {
    return proto::Error{400, "capacity",
                        "Too long for the memory of this server: " + std::to_string(cost.rows) +
                            " tokens need K/V for " + std::to_string(cost.kv_rows) + " rows > " +
                            std::to_string(limits.kept_kv_rows) + " (and one pass computes " +
                            std::to_string(limits.max_rows) + " tokens).",
                        ""};
  }
  std::vector<std::int32_t> rows;
  rows.reserve(sequence.reads.size());
  for (const RowRead& read : sequence.reads) {
    rows.push_back(read.row);
  }
  std::sort(rows.begin(), rows.end());
  for (auto first = rows.begin(); first != rows.end();) {
    const auto last = std::upper_bound(first, rows.end(), *first);
    if (last - first > limits.max_reads) {
      return proto::Error{400, "capacity",
                          "Too many answers from one token: " + std::to_string(last - first) +
                              " > " + std::to_string(limits.max_reads) + ".",
                          ""};
    }
    first = last;
  }
  return std::nullopt;
}

class PassBuilder::LabelLists {
 public:
  explicit LabelLists(const PackedSequence& sequence)
      : sequence_(sequence), in_plan_(sequence.label_lists.size(), -1) {}

  std::int32_t InPlan(std::int32_t list, std::vector<std::vector<proto::TokenId>>& plan_lists) {
    std::int32_t& index = in_plan_[static_cast<std::size_t>(list)];
    if (index < 0) {
      const auto& ids = sequence_.label_lists[static_cast<std::size_t>(list)];
      // Prompts of one request share a list, and stand together: it is broadcast once.
      if (plan_lists.empty() || plan_lists.back() != ids) {
        plan_lists.push_back(ids);
      }
      index = static_cast<std::int32_t>(plan_lists.size()) - 1;
    }
    return index;
  }

 private:
  const PackedSequence& sequence_;
  std::vector<std::int32_t> in_plan_;
};

std::int64_t PassBuilder::rows_left() const {
  return limits_.max_rows - static_cast<std::int64_t>(plan_.tokens.size());
}

std::int64_t PassBuilder::reads_left() const {
  return limits_.max_reads - static_cast<std::int64_t>(plan_.reads.size());
}

void PassBuilder::AddRead(const PackedSequence& sequence, const RowRead& read,
                          std::int32_t plan_row, LabelLists& lists) {
  proto::Check(static_cast<std::size_t>(read.label_list) < sequence.label_lists.size(),
               "a read's label list is there");
  plan_.reads.push_back(
      {plan_row, lists.InPlan(read.label_list, plan_.label_lists), read.normalizer, read.top_k});
}

bool PassBuilder::AddWhole(const PackedSequence& sequence, const PassCost& cost) {
  if (cost.rows > rows_left() || cost.reads > reads_left() ||
      cost.kv_rows > limits_.pass_kv_rows - pass_kv_rows_) {
    return false;
  }
  const auto first_row = static_cast<std::int32_t>(plan_.tokens.size());
  plan_.tokens.insert(plan_.tokens.end(), sequence.tokens.begin(), sequence.tokens.end());
  PlanSequence& planned = plan_.sequences.emplace_back();
  planned.segments.reserve(sequence.segments.size());
  for (const Segment& segment : sequence.segments) {
    planned.segments.push_back({segment.kind, segment.first_position, 0, segment.length,
                                proto::KvPlace{false, pass_kv_rows_}});
    pass_kv_rows_ += KvRows(segment.length);
  }
  LabelLists lists(sequence);
  for (const RowRead& read : sequence.reads) {
    AddRead(sequence, read, first_row + read.row, lists);
  }
  return true;
}

PassBuilder::Part PassBuilder::AddPart(const PackedSequence& sequence, std::int32_t begin) {
  Part part;
  part.end = begin + static_cast<std::int32_t>(
                         std::min<std::int64_t>(rows_left(), sequence.rows() - begin));

  const auto row_of = [&](std::int32_t read) {
    return sequence.reads[static_cast<std::size_t>(read)].row;
  };
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(sequence.reads.size()); ++i) {
    if (begin <= row_of(i) && row_of(i) < part.end) {
      part.reads.push_back(i);
    }
  }
  std::stable_sort(part.reads.begin(), part.reads.end(),
                   [&](std::int32_t a, std::int32_t b) { return row_of(a) < row_of(b); });
  if (static_cast<std::int64_t>(part.reads.size()) > reads_left()) {
    part.end = row_of(part.reads[static_cast<std::size_t>(reads_left())]);
    std::erase_if(part.reads, [&](std::int32_t read) { return row_of(read) >= part.end; });
  }
  if (part.end == begin) {
    return part;
  }

  const auto first_row = static_cast<std::int32_t>(plan_.tokens.size());
  plan_.tokens.insert(plan_.tokens.end(), sequence.tokens.begin() + begin,
                      sequence.tokens.begin() + part.end);

  std::vector<PlanSegment> segments;  // Those with rows before part.end.
  std::int32_t segment_begin = 0;
  std::int32_t place = 0;
  for (const Segment& segment : sequence.segments) {
    if (segment_begin >= part.end) {
      break;
    }
    segments.push_back(
        {segment.kind, segment.first_position, std::clamp(begin - segment_begin, 0, segment.length),
         std::clamp(part.end - segment_begin, 0, segment.length), proto::KvPlace{true, place}});
    segment_begin += segment.length;
    place += KvRows(segment.length);
  }
  PlanSequence& planned = plan_.sequences.emplace_back();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool needed =
        segments[i].computed() > 0 ||
        std::any_of(segments.begin() + static_cast<std::ptrdiff_t>(i) + 1, segments.end(),
                    [&](const PlanSegment& later) {
                      return later.computed() > 0 && proto::Sees(later.kind, segments[i].kind);
                    });
    if (needed) {
      planned.segments.push_back(segments[i]);
    }
  }

  LabelLists lists(sequence);
  for (const std::int32_t read : part.reads) {
    AddRead(sequence, sequence.reads[static_cast<std::size_t>(read)],
            first_row + row_of(read) - begin, lists);
  }
  return part;
}

proto::ForwardPlan PassBuilder::Take() && {
  plan_.bucket = proto::TokenBucket(static_cast<std::int64_t>(plan_.tokens.size()));
  plan_.read_bucket = proto::TokenBucket(static_cast<std::int64_t>(plan_.reads.size()));
  return std::move(plan_);
}

}  // namespace scorecast::coordinator
