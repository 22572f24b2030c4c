#pragma once

#include <filesystem>

#include "launcher/engine/engine.h"

namespace scorecast::launcher {

/// Called on every rank, before a service begins. If `path` is not empty on rank 0, measures passes
/// of 1 to 512 rows for up to about half a minute, and rank 0 writes them to the file: see
/// CostCalibration. Throws StartupError, on every rank, if the model pools rows, whose passes
/// PassShare does not describe, or if the file cannot be written.
void WriteCostCalibration(Engine& engine, const std::filesystem::path& path);

}  // namespace scorecast::launcher
