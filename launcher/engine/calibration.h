#pragma once

#include "coordinator/schedule/pass/pass_time_model.h"
#include "launcher/engine/engine.h"

namespace scorecast::launcher {

/// Measures passes for about a second. Called on every rank, before a service begins. On rank 0,
/// returns what it found out and logs it. `max_pass_seconds` is for the log.
coordinator::PassTimeModel Calibrate(Engine& engine, double max_pass_seconds);

}  // namespace scorecast::launcher
