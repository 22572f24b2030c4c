#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/pass/pass_work.h"
#include "coordinator/schedule/pass/sequence_parts.h"
#include "coordinator/schedule/pass/sequence_work.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// Fills one ForwardPlan within the limits of a pass. These are hard; the budget of time is soft.
class PassBuilder {
 public:
  explicit PassBuilder(const proto::PlanLimits& limits, const PassBudget& budget = {})
      : limits_(limits), budget_(budget) {}

  // Room left in the pass, without what is reserved.
  std::int64_t rows() const;
  std::int64_t reads() const;
  std::int64_t pass_kv_rows() const;
  std::int64_t logit_bytes() const;
  PassCost room() const { return {rows(), reads(), pass_kv_rows(), logit_bytes()}; }
  double seconds_left() const { return budget_.seconds - seconds(); }
  /// Whether the budget allows for this work as well. An empty pass has time for anything.
  bool HasTimeFor(const PassWork& work) const;
  const PassBudget& budget() const { return budget_; }

  /// Keeps room and time for what is added later.
  void Reserve(const PassCost& cost, const PassWork& work);
  /// Gives back what was reserved with the same cost and work.
  void Unreserve(const PassCost& cost, const PassWork& work);

  /// The segments and reads that follow belong to this sequence.
  void BeginSequence(const proto::BlockWeighting& weighting);
  /// The pass is a step of the text that was begun, with this work. It has one segment, and room
  /// for nothing else.
  void BeginStep(const proto::PlanStep& step, const PassWork& work);
  /// Takes pass-local K/V storage for this many rows.
  proto::KvPlace TakePlaces(std::int32_t rows);
  /// `computed` are the tokens of the rows that the segment computes, and `types` their types,
  /// which are all 0 if there are none.
  void AddSegment(const proto::PlanSegment& segment, const TokenSpans& computed,
                  std::span<const std::uint8_t> types = {});
  /// Reads computed row `row` of the pass. `read.row` and `read.label_list` are ignored. Labels
  /// that share their ids with those of an earlier read take no room in the plan.
  void AddRead(std::int64_t row, const proto::RowRead& read, const proto::LabelList& labels);
  /// Pools the computed row `row` of the pass. `so_far` has only the fields of pooled reads,
  /// without rows: what is pooled, and what earlier passes have pooled.
  void AddPooledRead(std::int64_t row, proto::PlanRead so_far);
  /// Pools computed row `row` as well; it follows the last one of the read that was added last.
  void AddPooledRow(std::int64_t row, bool goes_on);
  void AddCopy(const proto::KvCopy& copy) { plan_.copies.push_back(copy); }

  std::int64_t computed_rows() const { return static_cast<std::int64_t>(plan_.tokens.size()); }
  /// What is in the pass, without what is reserved.
  const PassWork& work() const { return work_; }
  /// Predicted seconds of this and of what is reserved, without the overhead.
  double seconds() const;
  /// Whether nothing is in the pass or reserved.
  bool empty() const { return plan_.tokens.empty() && reserved_.rows == 0; }
  bool full() const { return plan_.step || rows() == 0 || (!empty() && seconds_left() <= 0); }

  proto::ForwardPlan Take() &&;

 private:
  /// Index in the plan of a list, which is added with its first read.
  std::int32_t ListInPlan(const proto::LabelList& labels);

  const proto::PlanLimits& limits_;
  const PassBudget budget_;
  proto::ForwardPlan plan_;
  PassWork work_;
  KeyCount keys_;  ///< Of the sequence that was begun last.
  PassCost reserved_;
  PassWork reserved_work_;
  std::int64_t rows_read_ = 0;                                  ///< proto::RowsOfRead of all reads.
  std::int32_t pass_kv_rows_ = 0;                               ///< Storage taken, in rows.
  std::int64_t logit_bytes_ = 0;                                ///< proto::ReadBytes of all reads.
  std::unordered_map<const void*, std::int32_t> list_in_plan_;  ///< By LabelList::identity.
};

}  // namespace scorecast::coordinator
