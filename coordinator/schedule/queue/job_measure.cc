#include "coordinator/schedule/queue/job_measure.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "coordinator/schedule/pages/cache_peek.h"
#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/pages/kept_segments.h"
#include "coordinator/schedule/pass/sequence_work.h"
#include "coordinator/schedule/pass/text_steps.h"

namespace scorecast::coordinator {
namespace {

/// A bound lets a pass have this many rows, however long they take.
constexpr std::int32_t kLeastBoundedRows = 32;

/// How many times 4 fits into the number of bounded passes that a job takes.
std::int32_t SizeClassOf(double passes) {
  std::int32_t size_class = 0;
  for (double most = 1; passes > most && std::isfinite(passes); most *= 4) {
    ++size_class;
  }
  return size_class;
}

}  // namespace

JobMeasure::JobMeasure(const proto::PlanLimits& limits, const PassBudget& budget,
                       const BlockCache& cache, const ExpectedPages& expected,
                       const PageQueue& pages)
    : limits_(limits), budget_(budget), cache_(cache), expected_(expected), pages_(pages) {}

double JobMeasure::LongestSeconds() const {
  const std::int64_t rows = limits_.max_rows;
  return std::min(budget_.seconds,
                  budget_.rates.Seconds({.rows = rows,
                                         .keys = KeyCount::Keys(0, 0, rows, limits_.reach),
                                         .reads = limits_.max_reads}));
}

JobWork JobMeasure::Measure(const JobPointer& job) const {
  JobWork work;
  std::unordered_set<std::uint64_t> of_job;  // Pages of its sequences so far.
  for (std::size_t i = 0; i < job->sequences.size(); ++i) {
    const SequenceRef ref = {job, i};
    const PassWork left = WorkLeft(ref, [&](std::uint64_t page) {
      return of_job.contains(page) || expected_.IsOfAnother(ref.entry(), page);
    });
    Size(ref, left);
    work.sequences.push_back(left);
    work.all += left;
    if (job->sequences.size() > 1) {
      of_job.insert(ref.state().page_digests.begin(), ref.state().page_digests.end());
    }
  }
  job->path.size_class = SizeClassOf(budget_.rates.Seconds(work.all) / LongestSeconds());
  return work;
}

PassWork JobMeasure::WorkLeft(const SequenceRef& ref, const IsExpected& is_expected) const {
  const ActiveSequence& state = ref.state();
  const proto::PackedSequence& sequence = ref.given();
  if (!cache_.is_enabled() || (sequence.reads.empty() && ref.job->given.generations.empty())) {
    return state.work;
  }
  return WorkOf(
      sequence, limits_.reach,
      CachedRows({sequence, ref.job->given.cache_salt, state.page_digests}, cache_, is_expected));
}

void JobMeasure::Size(const SequenceRef& ref, const PassWork& left) const {
  ActiveSequence& state = ref.state();
  const proto::PackedSequence& sequence = ref.given();
  const std::vector<Generation> generations = ref.job->GenerationsOf(ref.sequence);
  const auto decide = [&](std::int32_t max_rows) {
    proto::PlanLimits limits = limits_;
    limits.max_rows = max_rows;
    state.max_rows = max_rows;
    state.takes_several_passes = TakesSeveralPasses(sequence, limits, generations);
    state.pages =
        state.takes_several_passes
            ? pages_.NeedOf(KeptPages(sequence, limits, generations), !generations.empty())
            : PageQueue::Need();
  };
  decide(limits_.max_rows);
  if (limits_.reach.both_sides) {
    const bool is_long = state.takes_several_passes || !budget_.HasTimeFor(left);
    state.takes_several_passes = is_long && FitsInSteps(sequence, limits_);
    state.pages = {};
    state.cut.reset();
    if (state.takes_several_passes) {
      state.pages = pages_.NeedOf(KvPages(sequence.rows()), /*has_completions=*/false);
      state.cut = CutText(sequence, state.work, limits_, budget_);
    }
    return;
  }
  if (!budget_.HasTimeFor(left)) {
    // As many rows as take the budget on average.
    const double part = budget_.seconds / budget_.rates.Seconds(state.work);
    const auto rows = static_cast<std::int32_t>(
        std::clamp<double>(part * static_cast<double>(state.work.rows), 0, limits_.max_rows));
    decide(std::min(std::max(rows, kLeastBoundedRows), limits_.max_rows));
    if (state.pages.pages > limits_.kept_kv_rows / proto::kKvPageRows) {
      decide(limits_.max_rows);  // There are not enough pages for parts so small.
    }
  }
}

}  // namespace scorecast::coordinator
