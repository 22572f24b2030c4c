#pragma once

#include <string>

#include "coordinator/transports/batch/run_state.h"
#include "launcher/engine/engine.h"
#include "launcher/engine/engine_flags.h"

namespace scorecast::launcher {

/// Everything besides the input on which the records of a batch depend: the model, the arithmetic,
/// and the flags that change a response. A run that is continued later must have the same settings.
/// `engine` may be without a runner. Throws StartupError if the model's files cannot be read.
coordinator::RunSettings RunSettingsOf(const EngineFlags& flags, const Engine& engine);

/// Tells settings apart.
std::string FingerprintOf(const coordinator::RunSettings& settings);

/// The checksums of the weights, which `engine` has computed while it loaded them.
coordinator::RunSettings WeightSettingsOf(const Engine& engine);

}  // namespace scorecast::launcher
