#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "proto/base/expected.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// Names a job. Jobs that arrive later have larger tickets.
using JobTicket = std::uint64_t;

/// Bounds of Job::priority.
inline constexpr std::int32_t kMinPriority = -10;
inline constexpr std::int32_t kMaxPriority = 10;

/// The outcome of a job.
struct JobResult {
  /// [sequences][reads], in the order of the job's sequences and of their reads; or the error that
  /// kept some of it from being computed: a 429, 499, 503 or 504.
  proto::Expected<std::vector<std::vector<proto::RowLogits>>> rows;
  /// Number of prompt tokens whose K/V the first pass of their sequence found in the cache, without
  /// those that were computed again because they were read. The last token of a prefix or a block
  /// counts in any case.
  std::int64_t cached_tokens = 0;
  Clock::time_point started;   ///< When its first pass began; `finished` if there was none.
  Clock::time_point finished;  ///< When its last pass ended.
};

/// Chooses the tokens of a completion one by one. `Wanted` is called on any thread that forms a
/// pass. When a pass is over, `Choose` is called on any of the threads that compute, beside the
/// `Choose` of other completions, then `Take` on the computing thread. The calls of one chooser
/// never overlap. They must return soon, and must not call the scheduler.
class TokenChooser {
 public:
  struct Choice {
    enum class Kind {
      kToken,      ///< `token` is the next one, and another follows it.
      kReadAgain,  ///< The same row is to be read once more, for what Wanted now returns.
      kEnd,        ///< The completion has ended.
    };
    Kind kind = Kind::kEnd;
    proto::TokenId token = 0;
  };

  virtual ~TokenChooser() = default;

  /// What to read of the row before the next token. `row` and `label_list` are ignored.
  virtual proto::RowRead Wanted() const = 0;
  /// The tokens whose logits belong to what is wanted.
  virtual const proto::LabelList& Labels() const {
    static const proto::LabelList none;
    return none;
  }
  /// Does the part of Take that takes long. Take does it itself if it was not done.
  virtual void Choose(const proto::RowLogits& /*row*/) {}
  virtual Choice Take(const proto::RowLogits& row) = 0;
};

/// A completion to generate at the end of a suffix. Each of its tokens is one more row.
struct Generation {
  std::size_t sequence = 0;  ///< Index into the job's sequences.
  /// Index into the sequence's segments, of a suffix. If the suffix is empty, the first token is
  /// read from the last row of the prefix, and there must be no blocks.
  std::size_t segment = 0;
  std::int64_t max_new_tokens = 0;  ///< Upper bound on the tokens that `chooser` chooses.
  std::shared_ptr<TokenChooser> chooser;
};

/// What the scheduler computes for one request.
struct Job {
  /// Each has passed `CapacityFault`. May be empty.
  std::vector<proto::PackedSequence> sequences;
  std::vector<Generation> generations;
  /// The client whose job it is: see the order described at Scheduler.
  ClientId client;
  /// kMinPriority … kMaxPriority. A job of a lower priority is computed sooner.
  std::int32_t priority = 0;
  /// When the client stops waiting for the result.
  std::optional<Clock::time_point> deadline;
  /// The job gets a 429 if it is predicted to wait longer for its first pass. Counts only if it is
  /// below SchedulerOptions::max_wait_seconds, and if that is set.
  double max_wait_seconds = std::numeric_limits<double>::infinity();
  /// Upper bound on the tokens of the jobs of the client's address that wait for their first pass,
  /// with this one, unless no other waits. The job gets a 429 if there would be more.
  std::optional<std::int64_t> max_client_tokens;
  /// Cached K/V is shared only among jobs with the same salt.
  std::string cache_salt;
  /// Called once: on the computing thread, on the thread that drops the job, or, if the job is
  /// refused or has nothing to compute, on the thread that submits it. Must return soon. May call
  /// Scheduler::Submit.
  std::function<void(JobResult)> done;
};

}  // namespace scorecast::coordinator
