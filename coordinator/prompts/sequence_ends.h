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

/// `count` completions at each end of the only sequence of a job, without chooser; those of the
/// same end follow each other. A completion extends a suffix of its own. A plain prompt gets
/// suffixes for them, which are empty at first. Of a suffix that has tokens there are `count` in
/// the end.
std::vector<Generation> AddCompletions(std::int64_t max_new_tokens, std::int64_t count,
                                       proto::PackedSequence& sequence);

}  // namespace scorecast::coordinator
