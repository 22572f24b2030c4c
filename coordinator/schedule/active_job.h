#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "coordinator/schedule/capacity.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/sequence_run.h"
#include "proto/base/error.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

class BlockCache;

/// A job from its submission to its result. The fields are guarded by the scheduler's lock; a job
/// that has left the planner belongs to the thread that calls it back.
struct ActiveJob {
  /// The cache and the limits must outlive the job. The constructor does not touch the cache, and
  /// the limits never change, so it needs no lock.
  ActiveJob(Job job, BlockCache& cache, const proto::PlanLimits& limits);

  bool is_late(Clock::time_point now) const { return deadline && *deadline <= now; }
  /// Whether some of its rows are in the pass in flight.
  bool is_in_pass() const;

  /// Hands the result, or the error, to `done`.
  void CallDone();

  std::optional<Clock::time_point> deadline;
  std::function<void(JobResult)> done;
  JobTicket ticket = 0;
  PassCost cost;  ///< What a single pass needs to compute the whole job.
  std::vector<std::unique_ptr<SequenceRun>> runs;  ///< [sequences]; null when the sequence is done.
  std::vector<std::int64_t> waiting_rows;          ///< [sequences]: prompt rows in no pass yet.
  std::vector<std::vector<proto::RowLogits>> rows;  ///< [sequences][reads]
  std::int64_t cached_tokens = 0;
  std::size_t unfinished_sequences = 0;
  std::optional<Clock::time_point> started;
  Clock::time_point finished;
  /// Why the job is dropped, which happens as soon as none of its rows is in a pass.
  std::optional<proto::Error> error;
  bool is_dropped = false;
};

using JobPointer = std::shared_ptr<ActiveJob>;

/// One sequence of a job.
struct SequenceRef {
  JobPointer job;
  std::size_t sequence = 0;

  SequenceRun& run() const { return *job->runs[sequence]; }
  JobTicket ticket() const { return job->ticket; }
  bool operator==(const SequenceRef&) const = default;
};

}  // namespace scorecast::coordinator
