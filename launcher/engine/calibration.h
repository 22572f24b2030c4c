#pragma once

#include "coordinator/schedule/pass/pass_time_model.h"
#include "launcher/engine/engine.h"

namespace scorecast::launcher {

/// Measures passes for about a second. Called on every rank, before a service begins. Rank 0 logs
/// the result and returns it. `max_pass_seconds` is needed for the log only.
coordinator::PassTimeModel Calibrate(Engine& engine, double max_pass_seconds);

}  // namespace scorecast::launcher
