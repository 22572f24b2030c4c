#pragma once

#include "launcher/commands/replica_flags.h"

namespace CLI {
class App;
}  // namespace CLI

namespace scorecast::launcher {

/// Adds the flags of `batch` with which services compute its lines. Called after all others were
/// added: with --replicas, --model is not needed, and the flags of an engine are refused.
void AddReplicaBatchFlags(CLI::App& batch, ReplicaFlags& flags);

}  // namespace scorecast::launcher
