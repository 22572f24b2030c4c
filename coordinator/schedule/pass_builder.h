#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/base/error.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// What sequences take of a pass when they are computed whole.
struct PassCost {
  std::int64_t rows = 0;
  std::int64_t reads = 0;
  std::int64_t kv_rows = 0;  ///< K/V places, each segment rounded up to granules.

  PassCost& operator+=(const PassCost& other);
};

PassCost CostOf(const proto::PackedSequence& sequence);

/// True where `cost` fits an empty pass.
bool FitsPass(const PassCost& cost, const proto::PlanLimits& limits);

/// Why no pass, and no number of passes, can compute the sequence: a 400 "capacity" without
/// `param`. A sequence longer than a pass keeps the K/V of all its segments from one pass to the
/// next; and all reads of one row belong to one pass.
std::optional<proto::Error> CapacityFault(const proto::PackedSequence& sequence,
                                          const proto::PlanLimits& limits);

/// Fills one ForwardPlan within the limits of a pass.
class PassBuilder {
 public:
  explicit PassBuilder(const proto::PlanLimits& limits) : limits_(limits) {}

  /// Adds all rows of a sequence, its K/V needed in this pass only; the plan's reads grow by the
  /// sequence's, in their order. False, and nothing added, where it does not fit what is left.
  /// `cost` is CostOf(sequence).
  bool AddWhole(const proto::PackedSequence& sequence, const PassCost& cost);

  struct Part {
    std::int32_t end = 0;  ///< Rows [begin, end) were added.
    std::vector<std::int32_t>
        reads;  ///< Which of the sequence's reads the plan's grew by, in order.
  };

  /// Adds as many rows from `begin` on as fit, with every read of them. The K/V of the whole
  /// sequence is kept, from place 0 on: one sequence at a time is computed in parts, at most one a
  /// pass.
  Part AddPart(const proto::PackedSequence& sequence, std::int32_t begin);

  bool empty() const { return plan_.tokens.empty(); }
  /// No row can be added any more.
  bool full() const { return rows_left() == 0; }

  proto::ForwardPlan Take() &&;

 private:
  std::int64_t rows_left() const;
  std::int64_t reads_left() const;

  /// Where a sequence's label lists stand in the plan; a list enters it with its first read.
  class LabelLists;
  void AddRead(const proto::PackedSequence& sequence, const proto::RowRead& read,
               std::int32_t plan_row, LabelLists& lists);

  const proto::PlanLimits& limits_;
  proto::ForwardPlan plan_;
  std::int32_t pass_kv_rows_ = 0;  ///< Places dealt out.
};

}  // namespace scorecast::coordinator
