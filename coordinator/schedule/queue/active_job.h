#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/pass/pass_work.h"
#include "coordinator/schedule/pass/sequence_run.h"
#include "coordinator/schedule/pass/text_steps.h"
#include "coordinator/schedule/queue/fair_queue.h"
#include "coordinator/schedule/queue/job_size.h"
#include "coordinator/schedule/queue/page_queue.h"
#include "proto/base/error.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

class BlockCache;

/// How far one sequence of a job is. While it waits for its turn it has no run, which would take
/// memory.
struct ActiveSequence {
  std::unique_ptr<SequenceRun> run;
  bool has_begun = false;  ///< The run has begun, if only to be preempted later.
  bool is_done = false;
  PassCost cost;  ///< What a single pass needs to compute it if nothing is cached.
  PassWork work;  ///< The same, as far as time depends on it.
  /// Digests of the pages that the cache may have, until its last prompt row is in a pass. See
  /// PageDigests.
  std::vector<std::uint64_t> page_digests;
  std::int64_t waiting_rows = 0;  ///< Prompt rows in no pass yet.
  /// The most of its rows that fit into a pass: fewer than PlanLimits::max_rows if it is to be cut
  /// because it would take too long.
  std::int32_t max_rows = 0;
  /// Whether the sequence must wait for pages of its own before it can begin.
  bool takes_several_passes = false;
  PageQueue::Need pages;  ///< If it does.
  /// Set if it is a text that is to be computed in steps.
  std::optional<TextCut> cut;
  /// First of the pages that such a text has in the buffers for texts, while it is under way.
  std::optional<std::int64_t> text_page;
};

/// A job from its submission to its result: what was submitted, what will be returned, and how far
/// it is. The fields are guarded by the scheduler's lock; a job that has left the planner belongs
/// to the thread that calls it back.
struct ActiveJob {
  /// The limits never change, so the constructor needs no lock.
  ActiveJob(Job job, const proto::PlanLimits& limits, Clock::time_point now);

  /// The run of a sequence that is not done. If there is none, it is made, with the sequence's
  /// `max_rows` in place of that of the limits. The cache must outlive it.
  SequenceRun& RunOf(std::size_t sequence, BlockCache& cache, proto::PlanLimits limits);
  /// The run has not begun: the sequence waits without one again.
  void DropRun(std::size_t sequence);
  /// The sequence is done, and needs neither its run nor its tokens any more.
  void EndSequence(std::size_t sequence);
  /// Frees all sequences and what is computed of them.
  void Clear();
  /// Those of one sequence.
  std::vector<Generation> GenerationsOf(std::size_t sequence) const;

  /// Prompt rows in no pass yet.
  std::int64_t waiting_rows() const;

  /// Hands the result, or the error, to the job's `done`.
  void CallDone();

  Job given;         ///< A sequence is empty as soon as it is done.
  JobResult result;  ///< Gets the rows of runs.
  JobTicket ticket = 0;
  const Clock::time_point submitted;
  JobSize size;
  std::vector<ActiveSequence> sequences;  ///< [sequences]
  FairPath path;
  std::int64_t rows_bytes = 0;  ///< RowsBytes of sequences that are done.
  std::size_t unfinished_sequences = 0;
  bool has_started = false;  ///< `result.started` is set.
  /// Why the job is dropped, which happens as soon as none of its rows is in a pass.
  std::optional<proto::Error> error;
  bool is_dropped = false;
};

using JobPointer = std::shared_ptr<ActiveJob>;

/// One sequence of a job.
struct SequenceRef {
  JobPointer job;
  std::size_t sequence = 0;

  const proto::PackedSequence& given() const { return job->given.sequences[sequence]; }
  ActiveSequence& state() const { return job->sequences[sequence]; }
  /// There is a run: see ActiveJob::RunOf.
  SequenceRun& run() const { return *state().run; }
  JobTicket ticket() const { return job->ticket; }
  FairQueue::Entry entry() const { return {job->ticket, sequence}; }
  bool operator==(const SequenceRef&) const = default;
};

}  // namespace scorecast::coordinator
