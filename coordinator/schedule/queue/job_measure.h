#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pass/pass_work.h"
#include "coordinator/schedule/queue/active_job.h"
#include "coordinator/schedule/queue/expected_pages.h"
#include "coordinator/schedule/queue/page_queue.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::coordinator {

/// What a job has left to compute, without what the cache has or will have.
struct JobWork {
  std::vector<PassWork> sequences;
  PassWork all;
};

/// Measures jobs that have not begun: what they have left to compute, and what follows from it.
class JobMeasure {
 public:
  using IsExpected = std::function<bool(std::uint64_t)>;

  /// The arguments outlive the measure, which sees their changes.
  JobMeasure(const proto::PlanLimits& limits, const PassBudget& budget, const BlockCache& cache,
             const ExpectedPages& expected, const PageQueue& pages);

  /// Predicted seconds of the longest pass: the unit of size classes.
  double LongestSeconds() const;

  /// Decides in which flow a job belongs and whether its sequences are to be cut. Returns what it
  /// has left to compute. Work that it shares with sequences that wait is theirs.
  JobWork Measure(const JobPointer& job) const;

  /// What a sequence has left to compute. For `is_expected` see CachedRows.
  PassWork WorkLeft(const SequenceRef& ref, const IsExpected& is_expected) const;
  /// Decides whether a sequence is to be cut, if this is left of it.
  void Size(const SequenceRef& ref, const PassWork& left) const;

 private:
  const proto::PlanLimits& limits_;
  const PassBudget& budget_;
  const BlockCache& cache_;
  const ExpectedPages& expected_;
  const PageQueue& pages_;
};

}  // namespace scorecast::coordinator
