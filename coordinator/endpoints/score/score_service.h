#pragma once

#include <atomic>

#include "coordinator/endpoints/deferred_answer.h"
#include "coordinator/request/server_options.h"
#include "coordinator/endpoints/score/score_preparation.h"
#include "coordinator/endpoints/score/score_request.h"
#include "coordinator/schedule/scheduler.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// The one path from a score request to its answer, for every door. Safe to call from any number of
/// threads.
class ScoreService {
 public:
  using Finish = coordinator::Finish<ScoreResponse>;
  using Ready = coordinator::Ready<ScoreResponse>;

  /// All are outlived by the arguments; `tokenizer` may be null. `options.delimiter`, where set, is
  /// in the model's vocabulary.
  ScoreService(const proto::ModelConfig& config, const Tokenizer* tokenizer,
               const ScoreOptions& options, Scheduler& scheduler);

  /// Checks, tokenizes and queues on the calling thread. The deadline and `total_ms` count from
  /// `arrived`.
  /// Names the request for Scheduler::Cancel; kNoTicket where it is ready already.
  Scheduler::Ticket Score(const ScoreRequest& request, Clock::time_point arrived,
                          const Ready& ready);

 private:
  void WarnOfItemFirst();

  const proto::ModelConfig& config_;
  const Tokenizer* tokenizer_;
  const ScoreOptions& options_;
  Scheduler& scheduler_;
  std::atomic<bool> warned_of_item_first_ = false;
};

}  // namespace scorecast::coordinator
