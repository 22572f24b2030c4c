#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/base/expected.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

using Clock = std::chrono::steady_clock;

/// What became of a job.
struct JobResult {
  /// [sequences][reads], in the order of the job's sequences and of each one's reads; or why not
  /// all of it was computed: a 429, 499, 503 or 504.
  proto::Expected<std::vector<std::vector<proto::RowLogits>>> rows;
  /// Of the sequences' tokens, those whose keys and values were there already, by the first pass.
  std::int64_t cached_tokens = 0;
  Clock::time_point started;   ///< When its first pass began; `finished` where there was none.
  Clock::time_point finished;  ///< When its last pass ended.
};

/// Chooses the tokens of an answer one by one. `Take` is called on the computing thread, `Wanted`
/// on any that forms a pass, never two at a time. Both must return soon, and not call the
/// scheduler.
class TokenChooser {
 public:
  struct Choice {
    enum class Kind {
      kToken,      ///< `token` comes next, and then another.
      kReadAgain,  ///< The row is to be read once more, for what Wanted says by now.
      kEnd,        ///< Nothing more is to be computed for this answer.
    };
    Kind kind = Kind::kEnd;
    proto::TokenId token = 0;
  };

  virtual ~TokenChooser() = default;

  /// What to read of the row before the next token. `row` and `label_list` are not looked at: no
  /// labels are read.
  virtual proto::RowRead Wanted() const = 0;
  virtual Choice Take(const proto::RowLogits& row) = 0;
};

/// An answer that is generated at the end of a suffix, each token of it a further row.
struct Generation {
  std::size_t sequence = 0;  ///< Of the job's.
  /// Of the sequence's segments: a suffix. Where it is empty, the first token is read from the last
  /// row of the prefix, and there are no blocks.
  std::size_t segment = 0;
  std::int64_t max_new_tokens = 0;  ///< `chooser` gives no more.
  std::shared_ptr<TokenChooser> chooser;
};

/// What the scheduler computes for one request.
struct Job {
  /// Each passed `CapacityFault`; may be empty.
  std::vector<proto::PackedSequence> sequences;
  std::vector<Generation> generations;
  /// K/V is shared with requests of the same salt only.
  std::string cache_salt;
  std::optional<Clock::time_point> deadline;
  /// Called once: on the computing thread, or, where there is nothing to compute, on the thread
  /// that submits. Must return soon; may call Scheduler::Submit.
  std::function<void(JobResult)> done;
};

}  // namespace scorecast::coordinator
