#pragma once

#include "coordinator/transports/batch/run_state.h"
#include "launcher/engine/engine_flags.h"
#include "proto/model/model_config.h"
#include "proto/mpi/communicator.h"

namespace scorecast::launcher {

/// Refuses ranks of different builds, with different flags, with different configurations of the
/// model, or with other settings of the arithmetic, before anything collective depends on them.
/// Throws StartupError on every rank. Collective.
void AgreeOnBuild(const proto::Communicator& group);
void AgreeOnFlags(const proto::Communicator& group, const EngineFlags& flags);
void AgreeOnConfig(const proto::Communicator& group, const EngineFlags& flags,
                   const proto::ModelConfig& config);
/// `settings` have the same names on every rank.
void AgreeOnSettings(const proto::Communicator& group, const coordinator::RunSettings& settings);

}  // namespace scorecast::launcher
