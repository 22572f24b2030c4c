#pragma once

#include <cstdint>
#include <limits>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pass/pass_work.h"

namespace scorecast::coordinator {

/// What passes are expected to take.
struct PassTimes {
  PassRates rates;
  /// Upper bound on the time of a pass: see PassTimeModel::BoundedSeconds. Infinite if there is
  /// none.
  double bound_seconds = std::numeric_limits<double>::infinity();
  /// Median relative error of recent predictions: see PassTimeModel::error.
  double error = 0;
};

/// What the scheduler does at one moment.
struct SchedulerStatus {
  std::int64_t waiting_jobs = 0;   ///< Jobs without a row in any pass yet.
  std::int64_t running_jobs = 0;   ///< Unfinished jobs with a row in a pass.
  double oldest_wait_seconds = 0;  ///< Time for which the oldest of these jobs has waited.
  /// Tokens and bytes of these jobs. What the sequences of a job share counts once.
  std::int64_t waiting_tokens = 0;
  std::int64_t waiting_bytes = 0;
  std::int64_t waiting_rows = 0;  ///< Prompt rows, of any job, that are left to compute.
  /// Bytes of all unfinished jobs and of those of their results that are computed.
  std::int64_t bytes = 0;
  std::int64_t running_completions = 0;  ///< Sequences that generate completions.
  std::int64_t passes = 0;               ///< Passes that are done.
  std::int64_t last_pass_rows = 0;       ///< Rows of the pass in flight, or of the last one.
  /// Predicted time of the waiting rows, without those that were in the cache when they were
  /// submitted.
  double predicted_seconds = 0;
  PassTimes pass_times;
  BlockCacheCounters cache;
  std::int64_t kv_pages = 0;  ///< All pages of K/V.
  /// Number of these that unfinished jobs hold. The other ones are free or can be evicted.
  std::int64_t held_kv_pages = 0;

  /// The share of the pages that unfinished jobs hold, from 0 to 1; 0 if there are no pages.
  double kv_usage() const {
    return kv_pages > 0 ? static_cast<double>(held_kv_pages) / static_cast<double>(kv_pages) : 0;
  }
};

}  // namespace scorecast::coordinator
