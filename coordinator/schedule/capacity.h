#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "coordinator/schedule/job.h"
#include "proto/base/error.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// What a single pass needs to compute a set of rows.
struct PassCost {
  std::int64_t rows = 0;
  std::int64_t reads = 0;
  std::int64_t kv_rows = 0;  ///< Pass-local K/V storage, each segment rounded up to granules.

  PassCost& operator+=(const PassCost& other);
};

PassCost CostOf(const proto::PackedSequence& sequence);

/// Whether an empty pass has room for `cost`.
bool FitsPass(const PassCost& cost, const proto::PlanLimits& limits);

/// Number of pages for `rows` rows.
constexpr std::int64_t KvPages(std::int64_t rows) {
  return (rows + proto::kKvPageRows - 1) / proto::kKvPageRows;
}

/// The error of a sequence that cannot be computed with its completions in any number of passes: a
/// 400 "capacity" without `param`. K/V that several passes need must fit into the pages, and all
/// reads of one row into one pass. `generations` are those of the sequence.
std::optional<proto::Error> CapacityFault(const proto::PackedSequence& sequence,
                                          const proto::PlanLimits& limits,
                                          std::span<const Generation> generations = {});

}  // namespace scorecast::coordinator
