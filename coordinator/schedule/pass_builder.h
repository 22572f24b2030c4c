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

  // What is left.
  std::int64_t rows() const;
  std::int64_t reads() const;
  std::int64_t pass_kv_rows() const { return limits_.pass_kv_rows - pass_kv_rows_; }

  /// Further segments, rows and reads are of this sequence; its label lists outlive the calls.
  void BeginSequence(const std::vector<std::vector<proto::TokenId>>& label_lists,
                     const proto::BlockWeighting& weighting);
  /// Places for K/V of this pass only.
  proto::KvPlace TakePlaces(std::int32_t rows);
  /// `computed`: the tokens of the rows that the segment computes.
  void AddSegment(const proto::PlanSegment& segment, std::span<const proto::TokenId> computed);
  /// Of a computed row, counted from the pass's first. `read.row` is not looked at; a label list of
  /// kNoLabels is an empty one.
  void AddRead(std::int64_t row, const proto::RowRead& read);
  void AddCopy(const proto::KvCopy& copy) { plan_.copies.push_back(copy); }

  static constexpr std::int32_t kNoLabels = -1;

  std::int64_t computed_rows() const { return static_cast<std::int64_t>(plan_.tokens.size()); }
  bool empty() const { return plan_.tokens.empty(); }
  /// No row can be added any more.
  bool full() const { return rows() == 0; }

  proto::ForwardPlan Take() &&;

 private:
  /// A list enters the plan with its first read.
  std::int32_t ListInPlan(std::int32_t list);

  const proto::PlanLimits& limits_;
  proto::ForwardPlan plan_;
  std::int32_t pass_kv_rows_ = 0;                                    ///< Places dealt out.
  const std::vector<std::vector<proto::TokenId>>* lists_ = nullptr;  ///< Of the present sequence.
  std::vector<std::int32_t> list_in_plan_;                           ///< -1: not yet.
  std::int32_t empty_list_ = -1;
};

}  // namespace scorecast::coordinator
