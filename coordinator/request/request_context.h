#pragma once

#include "coordinator/request/server_options.h"
#include "coordinator/text/models/interruption.h"
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
  /// Looked at by long work, which ends early if nobody waits for the response any more, and gives
  /// way to other requests. May be null.
  const Interruption* interruption = nullptr;
};

}  // namespace scorecast::coordinator
