#pragma once

#include <functional>
#include <string>

#include "coordinator/transports/batch/batch.h"
#include "coordinator/transports/batch/line_computer.h"
#include "coordinator/transports/batch/run_files.h"
#include "launcher/commands/commands.h"
#include "proto/plan/cluster_status.h"

namespace scorecast::launcher {

// The part of `batch` that does not depend on what computes its lines.

/// At the second signal the process ends, and with it the job, whatever it is doing. The output
/// written by then stays, and the run can be continued.
void EndAtSecond(int received);

/// Runs the lines of the files, until a signal if one comes. The log says then that the run ends
/// `ending`. `cluster_status` may be empty: see ProgressLog.
coordinator::BatchSummary RunLines(const BatchFlags& flags, coordinator::RunFiles& files,
                                   coordinator::LineComputer& lines, const std::string& ending,
                                   const std::function<proto::ClusterStatus()>& cluster_status);

/// Logs how the run has ended. It has not failed.
void LogEnd(const BatchFlags& flags, const coordinator::RunFiles& files,
            const coordinator::BatchSummary& summary);

int ExitCodeOf(const BatchFlags& flags, const coordinator::BatchSummary& summary);

}  // namespace scorecast::launcher
