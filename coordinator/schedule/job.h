#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "proto/base/expected.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

using Clock = std::chrono::steady_clock;

/// What became of a job.
struct JobResult {
  /// [sequences][reads], in the order of the job's sequences and of each one's reads; or a 504
  /// where the deadline passed while something of the job still waited.
  proto::Expected<std::vector<std::vector<proto::RowLogits>>> rows;
  Clock::time_point started;   ///< When its first pass began; `finished` where there was none.
  Clock::time_point finished;  ///< When its last pass ended.
};

/// What the scheduler computes for one request.
struct Job {
  /// Each passed `CapacityFault`; may be empty.
  std::vector<proto::PackedSequence> sequences;
  std::optional<Clock::time_point> deadline;
  /// Called once: on the computing thread, or, where there is nothing to compute, on the thread
  /// that submits. Must return soon; may call Scheduler::Submit.
  std::function<void(JobResult)> done;
};

}  // namespace scorecast::coordinator
