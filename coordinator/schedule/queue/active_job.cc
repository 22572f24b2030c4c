#include "coordinator/schedule/queue/active_job.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pages/cache_peek.h"
#include "coordinator/schedule/pass/sequence_work.h"
#include "proto/base/check.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

using proto::Check;

ActiveJob::ActiveJob(Job job, const proto::PlanLimits& limits, Clock::time_point now)
    : given(std::move(job)),
      result{.rows = std::vector<std::vector<proto::RowLogits>>(given.sequences.size())},
      submitted(now),
      size(SizeOf(given.sequences, given.generations.size())),
      sequences(given.sequences.size()),
      path{given.client, given.priority},
      unfinished_sequences(given.sequences.size()) {
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    proto::PackedSequence& sequence = given.sequences[i];
    ActiveSequence& active = sequences[i];
    sequence.NarrowReads(limits.pooled_rows);
    const std::vector<Generation> own = GenerationsOf(i);
    Check(sequence.rows() > 0, "a sequence has rows");
    Check(!CapacityFault(sequence, limits, own), "a sequence can be computed");
    active.cost = CostOf(sequence, limits, own);
    active.work = WorkOf(sequence, limits.reach);
    active.page_digests = PageDigests(sequence, given.cache_salt);
    active.waiting_rows = sequence.rows();
  }
}

SequenceRun& ActiveJob::RunOf(std::size_t sequence, BlockCache& cache, proto::PlanLimits limits) {
  ActiveSequence& active = sequences[sequence];
  if (active.run == nullptr) {
    Check(!active.is_done, "a sequence is computed once");
    limits.max_rows = active.max_rows;
    active.run = std::make_unique<SequenceRun>(given.sequences[sequence], (*result.rows)[sequence],
                                               GenerationsOf(sequence), given.cache_salt, cache,
                                               limits, active.cut);
  }
  return *active.run;
}

void ActiveJob::DropRun(std::size_t sequence) {
  sequences[sequence].run.reset();
  std::vector<proto::RowLogits>().swap(
      (*result.rows)[sequence]);  // Frees them, as `= {}` does not.
}

void ActiveJob::EndSequence(std::size_t sequence) {
  sequences[sequence].run.reset();
  sequences[sequence].is_done = true;
  given.sequences[sequence] = {};
}

void ActiveJob::Clear() {
  sequences.clear();
  given.sequences.clear();
  result.rows->clear();
}

std::vector<Generation> ActiveJob::GenerationsOf(std::size_t sequence) const {
  std::vector<Generation> of_sequence;
  std::copy_if(given.generations.begin(), given.generations.end(), std::back_inserter(of_sequence),
               [&](const Generation& generation) { return generation.sequence == sequence; });
  return of_sequence;
}

std::int64_t ActiveJob::waiting_rows() const {
  std::int64_t waiting = 0;
  for (const ActiveSequence& active : sequences) {
    waiting += active.waiting_rows;
  }
  return waiting;
}

void ActiveJob::CallDone() {
  if (error) {
    result.rows = proto::Unexpected(*std::move(error));
  }
  if (!has_started) {
    result.started = result.finished;
  }
  const auto call = std::move(given.done);
  call(std::move(result));
}

}  // namespace scorecast::coordinator
