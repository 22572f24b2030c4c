#pragma once

#include <functional>

#include "coordinator/transports/batch/run_files.h"
#include "launcher/commands/commands.h"
#include "launcher/engine/engine.h"

namespace scorecast::launcher {

/// Prints what a dry run of `batch` has found, and counts the lines of an input that is a regular
/// file. Returns false if it was stopped meanwhile: `is_stopped` is asked before each line. Runs on
/// rank 0. Throws StartupError if the input cannot be read to its end.
bool ReportDryRun(const BatchFlags& flags, const Engine& engine, coordinator::RunFiles& files,
                  const std::function<bool()>& is_stopped);

}  // namespace scorecast::launcher
