#include "coordinator/schedule/active_job.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "coordinator/schedule/block_cache.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;

ActiveJob::ActiveJob(Job job, BlockCache& cache, const proto::PlanLimits& limits)
    : deadline(job.deadline),
      done(std::move(job.done)),
      rows(job.sequences.size()),
      unfinished_sequences(job.sequences.size()) {
  for (std::size_t i = 0; i < job.sequences.size(); ++i) {
    proto::PackedSequence& sequence = job.sequences[i];
    std::vector<Generation> generations;
    std::copy_if(job.generations.begin(), job.generations.end(), std::back_inserter(generations),
                 [&](const Generation& generation) { return generation.sequence == i; });
    Check(!sequence.tokens.empty(), "a sequence has rows");
    Check(!CapacityFault(sequence, limits, generations), "a sequence can be computed");
    cost += CostOf(sequence);
    cost.reads += static_cast<std::int64_t>(generations.size());
    waiting_rows.push_back(sequence.rows());
    runs.push_back(std::make_unique<SequenceRun>(std::move(sequence), std::move(generations),
                                                 job.cache_salt, cache, limits));
  }
}

bool ActiveJob::is_in_pass() const {
  return std::any_of(runs.begin(), runs.end(),
                     [](const auto& run) { return run != nullptr && run->is_in_pass(); });
}

void ActiveJob::CallDone() {
  using Rows = decltype(JobResult::rows);
  const auto call = std::move(done);
  call(JobResult{error ? Rows(proto::Unexpected(*std::move(error))) : Rows(std::move(rows)),
                 cached_tokens, started.value_or(finished), finished});
}

}  // namespace scorecast::coordinator
