#include "coordinator/schedule/pass/pass_builder.h"

#include <iterator>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;

std::int64_t PassBuilder::rows() const {
  return limits_.max_rows - computed_rows() - reserved_.rows;
}

std::int64_t PassBuilder::reads() const { return limits_.max_reads - rows_read_ - reserved_.reads; }

std::int64_t PassBuilder::pass_kv_rows() const {
  return limits_.pass_kv_rows - pass_kv_rows_ - reserved_.kv_rows;
}

std::int64_t PassBuilder::logit_bytes() const {
  return limits_.max_logit_bytes - logit_bytes_ - reserved_.logit_bytes;
}

double PassBuilder::seconds() const {
  PassWork work = work_;
  work += reserved_work_;
  return budget_.rates.Seconds(work);
}

bool PassBuilder::HasTimeFor(const PassWork& work) const {
  return empty() || budget_.rates.Seconds(work) <= seconds_left();
}

void PassBuilder::Reserve(const PassCost& cost, const PassWork& work) {
  reserved_ += cost;
  reserved_work_ += work;
}

void PassBuilder::Unreserve(const PassCost& cost, const PassWork& work) {
  reserved_ -= cost;
  reserved_work_ -= work;
}

void PassBuilder::BeginSequence(const proto::BlockWeighting& weighting) {
  plan_.sequences.emplace_back().block_weighting = weighting;
  keys_ = {};
}

void PassBuilder::BeginStep(const proto::PlanStep& step, const PassWork& work) {
  plan_.step = step;
  work_ += work;
}

proto::KvPlace PassBuilder::TakePlaces(std::int32_t rows) {
  const proto::KvPlace place{false, pass_kv_rows_};
  pass_kv_rows_ += proto::KvRows(rows);
  Check(pass_kv_rows_ <= limits_.pass_kv_rows, "a pass has storage for its K/V");
  return place;
}

void PassBuilder::AddSegment(const proto::PlanSegment& segment, const TokenSpans& computed,
                             std::span<const std::uint8_t> types) {
  Check(segment.computed() <= rows(), "a pass has room for its rows");
  const std::int64_t before = keys_.Next(segment.kind, segment.continues, segment.compute_end);
  if (!plan_.step) {
    work_.rows += segment.computed();
    work_.keys += KeyCount::Keys(before, segment.compute_begin, segment.compute_end, limits_.reach);
  }
  plan_.sequences.back().segments.push_back(segment);
  if (!types.empty()) {
    Check(std::ssize(types) == segment.computed(),
          "a segment has a type for every token or for none");
    plan_.token_types.resize(plan_.tokens.size());
    plan_.token_types.insert(plan_.token_types.end(), types.begin(), types.end());
  }
  const std::size_t tokens_before = plan_.tokens.size();
  for (const std::span<const proto::TokenId> tokens : computed) {
    plan_.tokens.insert(plan_.tokens.end(), tokens.begin(), tokens.end());
  }
  Check(plan_.tokens.size() - tokens_before == static_cast<std::size_t>(segment.computed()),
        "a segment has its tokens");
}

void PassBuilder::AddRead(std::int64_t row, const proto::RowRead& read,
                          const proto::LabelList& labels) {
  const std::int64_t bytes = proto::ReadBytes(read, labels.size(), limits_);
  Check(reads() > 0 && bytes <= logit_bytes(), "a pass has room for its reads");
  ++rows_read_;
  logit_bytes_ += bytes;
  work_ += WorkOfRead(read, labels.size());
  plan_.reads.push_back({static_cast<std::int32_t>(row), ListInPlan(labels), read.normalizer,
                         read.top_k, read.temperature, read.draw, read.target, read.excludes_labels,
                         read.ranks_target, read.bin_width, read.masses});
}

void PassBuilder::AddPooledRead(std::int64_t row, proto::PlanRead so_far) {
  so_far.row = static_cast<std::int32_t>(row);
  so_far.first_row = so_far.row;
  const std::int64_t bytes = proto::ReadBytes(so_far, 0, limits_);
  Check(reads() > 0 && bytes <= logit_bytes(), "a pass has room for its reads");
  ++rows_read_;
  logit_bytes_ += bytes;
  work_ += WorkOfRead(so_far, 0);
  plan_.reads.push_back(std::move(so_far));
}

void PassBuilder::AddPooledRow(std::int64_t row, bool goes_on) {
  proto::PlanRead& read = plan_.reads.back();
  Check(read.is_pooled() && row == read.row + 1 && reads() > 0, "pooled rows follow each other");
  read.row = static_cast<std::int32_t>(row);
  read.goes_on = goes_on;
  ++rows_read_;
  ++work_.reads;
}

std::int32_t PassBuilder::ListInPlan(const proto::LabelList& labels) {
  const auto [entry, is_new] = list_in_plan_.try_emplace(
      labels.identity(), static_cast<std::int32_t>(plan_.label_lists.size()));
  if (is_new) {
    plan_.label_lists.push_back(labels);
  }
  return entry->second;
}

proto::ForwardPlan PassBuilder::Take() && {
  if (!plan_.token_types.empty()) {
    plan_.token_types.resize(plan_.tokens.size());
  }
  plan_.bucket = proto::TokenBucket(computed_rows());
  plan_.read_bucket = proto::TokenBucket(rows_read_);
  return std::move(plan_);
}

}  // namespace scorecast::coordinator
