#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "coordinator/schedule/job.h"
#include "proto/base/error.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// What rows take of a pass when all of them are computed in it.
struct PassCost {
  std::int64_t rows = 0;
  std::int64_t reads = 0;
  std::int64_t kv_rows = 0;  ///< K/V places, each segment rounded up to granules.

  PassCost& operator+=(const PassCost& other);
};

PassCost CostOf(const proto::PackedSequence& sequence);

/// True where `cost` fits an empty pass.
bool FitsPass(const PassCost& cost, const proto::PlanLimits& limits);

/// Pages that `rows` rows take.
constexpr std::int64_t KvPages(std::int64_t rows) {
  return (rows + proto::kKvPageRows - 1) / proto::kKvPageRows;
}

/// Why no pass, and no number of passes, can compute the sequence and its answers (those of a job
/// that belong to it): a 400 "capacity" without `param`. What several passes need is kept in pages
/// from one to the next; all reads of one row belong to one pass.
std::optional<proto::Error> CapacityFault(const proto::PackedSequence& sequence,
                                          const proto::PlanLimits& limits,
                                          std::span<const Generation> answers = {});

}  // namespace scorecast::coordinator
