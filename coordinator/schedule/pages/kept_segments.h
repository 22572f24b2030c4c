#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/schedule/job.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// [segments]: whether K/V of the segment must outlive a pass if the sequence does not fit into one
/// or has completions. That holds for prefixes, for blocks that suffixes see, for suffixes that
/// completions are generated into, and for chains that do not fit into a pass by themselves. Every
/// other chain is computed whole within one of the passes.
std::vector<bool> MustBeKept(const proto::PackedSequence& sequence, const proto::PlanLimits& limits,
                             std::span<const Generation> generations);

/// Upper bound on the pages that such a sequence holds at any time, its completions included.
std::int64_t KeptPages(const proto::PackedSequence& sequence, const proto::PlanLimits& limits,
                       std::span<const Generation> generations);

/// The row of the sequence from which a completion's first token is read.
std::int32_t FirstReadRow(const proto::PackedSequence& sequence, const Generation& generation);

}  // namespace scorecast::coordinator
