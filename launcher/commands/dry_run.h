#pragma once

#include <functional>

#include "coordinator/transports/batch/run_files.h"
#include "launcher/commands/commands.h"
#include "launcher/engine/engine.h"

namespace scorecast::launcher {

/// Prints what a dry run of `batch` has found. If the input is a regular file, also counts its
/// lines. `is_stopped` is called before each line; returns false if it was true. Runs on rank 0.
/// Throws StartupError if the input cannot be read to its end.
bool ReportDryRun(const BatchFlags& flags, const Engine& engine, coordinator::RunFiles& files,
                  const std::function<bool()>& is_stopped);

}  // namespace scorecast::launcher
