#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "coordinator/schedule/job.h"
#include "coordinator/schedule/scheduler.h"
#include "coordinator/schedule/sequence_run.h"
#include "proto/base/error.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// A job from its submission to its answer. For the scheduler's own files.
struct Scheduler::ActiveJob {
  std::optional<Clock::time_point> deadline;
  std::function<void(JobResult)> done;
  Ticket ticket = kNoTicket;                        ///< Order of arrival.
  std::vector<std::unique_ptr<SequenceRun>> runs;   ///< [sequences]; null when it is over.
  std::vector<std::int64_t> waiting_rows;           ///< [sequences]: in no pass yet.
  std::vector<std::vector<proto::RowLogits>> rows;  ///< [sequences][reads]
  std::int64_t cached_tokens = 0;
  std::size_t unfinished = 0;  ///< Sequences.
  std::optional<Clock::time_point> started;
  Clock::time_point finished;
  std::optional<proto::Error> error;  ///< Dropped, or to be as soon as nothing rides.
  bool dropped = false;

  void Finish(Clock::time_point now) { finished = now; }

  bool late(Clock::time_point now) const { return deadline && *deadline <= now; }
  bool is_in_pass() const {
    return std::any_of(runs.begin(), runs.end(),
                       [](const auto& run) { return run != nullptr && run->is_in_pass(); });
  }

  void CallDone() {
    using Rows = decltype(JobResult::rows);
    const auto call = std::move(done);
    call(JobResult{error ? Rows(proto::Unexpected(*std::move(error))) : Rows(std::move(rows)),
                   cached_tokens, started.value_or(finished), finished});
  }
};

/// Behind those whose jobs came before, or with it.
template <typename OfJob, typename Queue>
void InsertByArrival(const OfJob& of, Queue& queue) {
  queue.insert(
      std::upper_bound(queue.begin(), queue.end(), of,
                       [](const OfJob& a, const OfJob& b) { return a.ticket() < b.ticket(); }),
      of);
}

}  // namespace scorecast::coordinator
