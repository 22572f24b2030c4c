#pragma once

#include <string>

#include "coordinator/transports/batch/run_state.h"
#include "launcher/engine/engine.h"
#include "launcher/engine/engine_flags.h"
#include "shard/worker/rank_engine.h"

namespace scorecast::launcher {

/// What the bits of all numbers depend on besides the model, the flags and the number of ranks: the
/// kernel set, the versions of scorecast and of the libraries, and the instructions that these have
/// chosen. All ranks must have the same. A library that computes nothing here is left out.
coordinator::RunSettings ArithmeticSettingsOf(const shard::AgreedArithmetic& arithmetic,
                                              const proto::ModelConfig& config);

/// The kernel set and the library of products among such settings, for clients: "generic, OpenBLAS
/// 0.3.21 Haswell".
std::string KernelsOf(const coordinator::RunSettings& settings);

/// Everything besides the input on which the records of a batch depend: the model, the arithmetic,
/// and the flags that change a response. A run that is continued later must have the same settings.
/// `engine` may be without a runner. Throws StartupError if the model's files cannot be read.
coordinator::RunSettings RunSettingsOf(const EngineFlags& flags, const Engine& engine);

/// Tells settings apart.
std::string FingerprintOf(const coordinator::RunSettings& settings);

/// The checksums of the weights, which `engine` has computed while it loaded them.
coordinator::RunSettings WeightSettingsOf(const Engine& engine);

}  // namespace scorecast::launcher
