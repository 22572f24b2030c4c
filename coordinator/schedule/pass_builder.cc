#include "coordinator/schedule/pass_builder.h"

#include <utility>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;

std::int64_t PassBuilder::rows() const { return limits_.max_rows - computed_rows(); }

std::int64_t PassBuilder::reads() const {
  return limits_.max_reads - static_cast<std::int64_t>(plan_.reads.size());
}

void PassBuilder::BeginSequence(const std::vector<std::vector<proto::TokenId>>& label_lists,
                                const proto::BlockWeighting& weighting) {
  plan_.sequences.emplace_back().block_weighting = weighting;
  lists_ = &label_lists;
  list_in_plan_.assign(label_lists.size(), -1);
}

proto::KvPlace PassBuilder::TakePlaces(std::int32_t rows) {
  const proto::KvPlace place{false, pass_kv_rows_};
  pass_kv_rows_ += proto::KvRows(rows);
  Check(pass_kv_rows_ <= limits_.pass_kv_rows, "a pass has storage for its K/V");
  return place;
}

void PassBuilder::AddSegment(const proto::PlanSegment& segment,
                             std::span<const proto::TokenId> computed) {
  Check(static_cast<std::int64_t>(computed.size()) <= rows(), "a pass has room for its rows");
  plan_.sequences.back().segments.push_back(segment);
  plan_.tokens.insert(plan_.tokens.end(), computed.begin(), computed.end());
}

void PassBuilder::AddRead(std::int64_t row, const proto::RowRead& read) {
  Check(reads() > 0, "a pass has room for its reads");
  plan_.reads.push_back({static_cast<std::int32_t>(row), ListInPlan(read.label_list),
                         read.normalizer, read.top_k, read.temperature, read.draw});
}

std::int32_t PassBuilder::ListInPlan(std::int32_t list) {
  std::int32_t& in_plan =
      list == kNoLabels ? empty_list_ : list_in_plan_.at(static_cast<std::size_t>(list));
  if (in_plan < 0) {
    in_plan = static_cast<std::int32_t>(plan_.label_lists.size());
    plan_.label_lists.emplace_back();
    if (list != kNoLabels) {
      plan_.label_lists.back() = (*lists_)[static_cast<std::size_t>(list)];
    }
  }
  return in_plan;
}

proto::ForwardPlan PassBuilder::Take() && {
  plan_.bucket = proto::TokenBucket(computed_rows());
  plan_.read_bucket = proto::TokenBucket(static_cast<std::int64_t>(plan_.reads.size()));
  return std::move(plan_);
}

}  // namespace scorecast::coordinator
