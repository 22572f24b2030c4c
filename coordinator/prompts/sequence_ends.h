#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coordinator/schedule/job.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// Where an answer to a part of a sequence is read, or its completion begins.
struct SequenceEnd {
  std::size_t segment = 0;
  std::int32_t row = 0;  ///< The last one.
};

/// The ends of the suffixes that are not empty. If there is none, the last row of all, whose
/// `segment` is the first.
std::vector<SequenceEnd> EndsOf(const proto::PackedSequence& sequence);

/// A completion at each end of the only sequence of a job, without chooser. It extends its suffix.
/// A plain prompt gets a suffix for it, which is empty at first.
std::vector<Generation> AddCompletions(std::int64_t max_new_tokens,
                                       proto::PackedSequence& sequence);

}  // namespace scorecast::coordinator
