#pragma once

#include <cstdint>

#include "coordinator/schedule/block_cache.h"

namespace scorecast::coordinator {

/// What the scheduler does at one moment.
struct SchedulerStatus {
  std::int64_t waiting_jobs = 0;   ///< Jobs without a row in any pass yet.
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
  double seconds_per_row = 0;            ///< Average of recent passes; 0 before the first.
  /// Expected time of computing `waiting_rows`; 0 before the first pass.
  double predicted_seconds = 0;
  BlockCacheCounters cache;
};

}  // namespace scorecast::coordinator
