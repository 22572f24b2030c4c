#include "coordinator/schedule/queue/active_job.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pages/cache_peek.h"
#include "coordinator/schedule/pass/sequence_work.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;

ActiveJob::ActiveJob(Job job, const proto::PlanLimits& limits, Clock::time_point now)
    : done(std::move(job.done)),
      submitted(now),
      size(SizeOf(job.sequences)),
      sequences(job.sequences.size()),
      generations(std::move(job.generations)),
      path{std::move(job.client), job.priority},
      deadline(job.deadline),
      max_wait_seconds(job.max_wait_seconds),
      max_client_tokens(job.max_client_tokens),
      cache_salt(std::move(job.cache_salt)),
      rows(job.sequences.size()),
      unfinished_sequences(job.sequences.size()) {
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    ActiveSequence& active = sequences[i];
    active.sequence = std::move(job.sequences[i]);
    active.sequence.NarrowReads(limits.pooled_rows);
    const std::vector<Generation> own = GenerationsOf(i);
    Check(active.sequence.rows() > 0, "a sequence has rows");
    Check(!CapacityFault(active.sequence, limits, own), "a sequence can be computed");
    active.cost = CostOf(active.sequence, limits, own);
    active.work = WorkOf(active.sequence, limits.reach);
    active.page_digests = PageDigests(active.sequence, cache_salt);
    active.waiting_rows = active.sequence.rows();
  }
}

SequenceRun& ActiveJob::RunOf(std::size_t sequence, BlockCache& cache, proto::PlanLimits limits) {
  ActiveSequence& active = sequences[sequence];
  if (active.run == nullptr) {
    Check(!active.is_done, "a sequence is computed once");
    limits.max_rows = active.max_rows;
    active.run = std::make_unique<SequenceRun>(active.sequence, GenerationsOf(sequence), cache_salt,
                                               cache, limits, active.cut);
  }
  return *active.run;
}

std::vector<Generation> ActiveJob::GenerationsOf(std::size_t sequence) const {
  std::vector<Generation> of_sequence;
  std::copy_if(generations.begin(), generations.end(), std::back_inserter(of_sequence),
               [&](const Generation& generation) { return generation.sequence == sequence; });
  return of_sequence;
}

bool ActiveJob::is_in_pass() const {
  return std::any_of(sequences.begin(), sequences.end(), [](const ActiveSequence& active) {
    return active.run != nullptr && active.run->is_in_pass();
  });
}

std::int64_t ActiveJob::waiting_rows() const {
  std::int64_t waiting = 0;
  for (const ActiveSequence& active : sequences) {
    waiting += active.waiting_rows;
  }
  return waiting;
}

void ActiveJob::CallDone() {
  using Rows = decltype(JobResult::rows);
  const auto call = std::move(done);
  call(JobResult{error ? Rows(proto::Unexpected(*std::move(error))) : Rows(std::move(rows)),
                 cached_tokens, started.value_or(finished), finished});
}

}  // namespace scorecast::coordinator
