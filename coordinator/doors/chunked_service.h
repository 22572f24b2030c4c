#pragma once

#include <cstddef>
#include <functional>

#include "coordinator/doors/chunked_request.h"
#include "coordinator/doors/deferred_answer.h"
#include "coordinator/doors/score_options.h"
#include "coordinator/generate/completion_generator.h"
#include "coordinator/schedule/scheduler.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// The one path from a request about documents to its answer, for every door. Safe to call from any
/// number of threads.
class ChunkedService {
 public:
  using Finish = coordinator::Finish<ChunkedResponse>;
  using Ready = coordinator::Ready<ChunkedResponse>;
  /// What was generated for one of the questions, on the computing thread and before Ready. Must
  /// return soon.
  using OnDelta = std::function<void(std::size_t question, CompletionDelta)>;

  /// All are outlived by the arguments; `tokenizer` may be null.
  ChunkedService(const proto::ModelConfig& config, const Tokenizer* tokenizer,
                 const ScoreOptions& options, Scheduler& scheduler);

  /// Checks, tokenizes and queues on the calling thread. The deadline and `total_ms` count from
  /// `arrived`. `on_delta` may be empty; it is called for requests with `stream` only.
  /// Names the request for Scheduler::Cancel; kNoTicket where it is ready already.
  Scheduler::Ticket Answer(const ChunkedRequest& request, Clock::time_point arrived,
                           const OnDelta& on_delta, const Ready& ready);

 private:
  const proto::ModelConfig& config_;
  const Tokenizer* tokenizer_;
  const ScoreOptions& options_;
  Scheduler& scheduler_;
};

}  // namespace scorecast::coordinator
