#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/schedule/job.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// [segments]: of which K/V must outlive a pass, where a sequence does not fit one or has answers:
/// prefixes, what suffixes see, suffixes that answers are generated into, and what is longer than
/// a pass by itself. The rest is computed whole within one of the passes.
std::vector<bool> MustBeKept(const proto::PackedSequence& sequence, const proto::PlanLimits& limits,
                             std::span<const Generation> answers);

/// The most pages that such a sequence holds at a time, its answers included.
std::int64_t KeptPages(const proto::PackedSequence& sequence, const proto::PlanLimits& limits,
                       std::span<const Generation> answers);

/// The row from which an answer's first token is read.
std::int32_t FirstReadRow(const proto::PackedSequence& sequence, const Generation& answer);

}  // namespace scorecast::coordinator
