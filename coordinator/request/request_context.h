#pragma once

#include <atomic>

#include "coordinator/request/server_options.h"
#include "coordinator/text/tokenizer.h"
#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::coordinator {

/// What requests are checked against. `tokenizer` may be null; a request with text then gets a 400.
struct RequestContext {
  const proto::ModelConfig& config;
  const Tokenizer* tokenizer = nullptr;
  const ServerOptions& options;
  const proto::PlanLimits& limits;
  /// Becomes true when nobody waits for the response any more. Long work then ends early, with any
  /// error. May be null.
  const std::atomic<bool>* stop = nullptr;
};

}  // namespace scorecast::coordinator
