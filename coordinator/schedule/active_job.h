#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/schedule/capacity.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/job_size.h"
#include "coordinator/schedule/sequence_run.h"
#include "proto/base/error.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

class BlockCache;

/// One sequence of a job. While it waits for its turn it is kept as it was submitted, because a
/// run takes more memory and has tokens of its own.
struct ActiveSequence {
  proto::PackedSequence sequence;  ///< Empty as soon as there is a run.
  std::unique_ptr<SequenceRun> run;
  bool is_done = false;
  /// Whether the sequence must wait for pages of its own before it can begin.
  bool takes_several_passes = false;
  PassCost cost;                  ///< What a single pass needs to compute it if nothing is cached.
  std::int64_t waiting_rows = 0;  ///< Prompt rows in no pass yet.
};

/// A job from its submission to its result. The fields are guarded by the scheduler's lock; a job
/// that has left the planner belongs to the thread that calls it back.
struct ActiveJob {
  /// The limits never change, so the constructor needs no lock.
  ActiveJob(Job job, const proto::PlanLimits& limits, Clock::time_point now);

  /// The run of a sequence that is not done, which is made by the first call. The cache and the
  /// limits must outlive it.
  SequenceRun& RunOf(std::size_t sequence, BlockCache& cache, const proto::PlanLimits& limits);

  /// Whether some of its rows are in the pass in flight.
  bool is_in_pass() const;
  /// Prompt rows in no pass yet.
  std::int64_t waiting_rows() const;

  /// Hands the result, or the error, to `done`.
  void CallDone();

  std::function<void(JobResult)> done;
  JobTicket ticket = 0;
  const Clock::time_point submitted;
  JobSize size;
  PassCost cost;  ///< What a single pass needs to compute the whole job.
  std::vector<ActiveSequence> sequences;
  std::vector<Generation> generations;
  ClientId client;
  std::int32_t priority = 0;
  std::optional<Clock::time_point> deadline;
  std::string cache_salt;
  std::vector<std::vector<proto::RowLogits>> rows;  ///< [sequences][reads], of those that are done.
  std::int64_t rows_bytes = 0;                      ///< RowsBytes of `rows`.
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

  const ActiveSequence& state() const { return job->sequences[sequence]; }
  /// There is a run: see ActiveJob::RunOf.
  SequenceRun& run() const { return *state().run; }
  JobTicket ticket() const { return job->ticket; }
  bool operator==(const SequenceRef&) const = default;
};

}  // namespace scorecast::coordinator
