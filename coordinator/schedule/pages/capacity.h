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
  std::int64_t kv_rows = 0;      ///< Pass-local K/V storage, each segment rounded up to granules.
  std::int64_t logit_bytes = 0;  ///< proto::ReadBytes of all reads.

  PassCost& operator+=(const PassCost& other);
  PassCost& operator-=(const PassCost& other);
  bool FitsInto(const PassCost& room) const;
};

/// `generations` are those of the sequence. What their choosers want first counts as well.
PassCost CostOf(const proto::PackedSequence& sequence, const proto::PlanLimits& limits,
                std::span<const Generation> generations = {});

/// Length of the label list of one of the sequence's reads; 0 if the read pools rows.
std::size_t LabelCount(const proto::PackedSequence& sequence, const proto::RowRead& read);

/// proto::ReadBytes of one of the sequence's reads.
std::int64_t ReadBytesOf(const proto::PackedSequence& sequence, const proto::RowRead& read,
                         const proto::PlanLimits& limits);

/// proto::ReadBytes of what a completion wants next.
std::int64_t WantedBytes(const TokenChooser& chooser, const proto::PlanLimits& limits);

/// Whether an empty pass has room for `cost`.
bool FitsPass(const PassCost& cost, const proto::PlanLimits& limits);

/// Whether a sequence has completions or does not fit into one pass. `generations` are its own.
bool TakesSeveralPasses(const proto::PackedSequence& sequence, const proto::PlanLimits& limits,
                        std::span<const Generation> generations);

/// Whether a bidirectional text can be computed in steps: see proto::PlanStep.
bool FitsInSteps(const proto::PackedSequence& text, const proto::PlanLimits& limits);

/// Number of pages for `rows` rows.
constexpr std::int64_t KvPages(std::int64_t rows) {
  return (rows + proto::kKvPageRows - 1) / proto::kKvPageRows;
}

/// The error of a sequence that cannot be computed with its completions in any number of passes,
/// without `param`. K/V that several passes need must fit into the pages, or a bidirectional text
/// into the buffers for texts, and all reads of one row into one pass: otherwise a 400 "capacity",
/// or a 413 "answer_too_large" if the row's logits do not fit. `generations` are those of the
/// sequence; their choosers may be null, because the limits always have room for the logits of a
/// completion beside those of one other read.
std::optional<proto::Error> CapacityFault(const proto::PackedSequence& sequence,
                                          const proto::PlanLimits& limits,
                                          std::span<const Generation> generations = {});

}  // namespace scorecast::coordinator
