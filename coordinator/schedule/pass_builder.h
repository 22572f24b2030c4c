#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// Fills one ForwardPlan within the limits of a pass.
class PassBuilder {
 public:
  explicit PassBuilder(const proto::PlanLimits& limits) : limits_(limits) {}

  // Room left in the pass.
  std::int64_t rows() const;
  std::int64_t reads() const;
  std::int64_t pass_kv_rows() const { return limits_.pass_kv_rows - pass_kv_rows_; }

  /// The segments and reads that follow belong to this sequence. Its label lists outlive them.
  void BeginSequence(const std::vector<std::vector<proto::TokenId>>& label_lists,
                     const proto::BlockWeighting& weighting);
  /// Takes pass-local K/V storage for this many rows.
  proto::KvPlace TakePlaces(std::int32_t rows);
  /// `computed` are the tokens of the rows that the segment computes.
  void AddSegment(const proto::PlanSegment& segment, std::span<const proto::TokenId> computed);
  /// Reads computed row `row` of the pass. `read.row` is ignored. A label list of kNoLabels stands
  /// for an empty list.
  void AddRead(std::int64_t row, const proto::RowRead& read);
  void AddCopy(const proto::KvCopy& copy) { plan_.copies.push_back(copy); }

  static constexpr std::int32_t kNoLabels = -1;

  std::int64_t computed_rows() const { return static_cast<std::int64_t>(plan_.tokens.size()); }
  bool empty() const { return plan_.tokens.empty(); }
  bool full() const { return rows() == 0; }

  proto::ForwardPlan Take() &&;

 private:
  /// Index in the plan of one of the sequence's lists, which is added with its first read.
  std::int32_t ListInPlan(std::int32_t list);

  const proto::PlanLimits& limits_;
  proto::ForwardPlan plan_;
  std::int32_t pass_kv_rows_ = 0;  ///< Storage taken, in rows.
  /// Label lists of the sequence.
  const std::vector<std::vector<proto::TokenId>>* lists_ = nullptr;
  std::vector<std::int32_t> list_in_plan_;  ///< -1: not in the plan yet.
  std::int32_t empty_list_ = -1;
};

}  // namespace scorecast::coordinator
