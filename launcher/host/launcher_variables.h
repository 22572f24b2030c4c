#pragma once

#include <functional>
#include <optional>

namespace scorecast::launcher {

/// A variable of the environment; null if it is not set.
using Environment = std::function<const char*(const char* name)>;

/// That of this process.
Environment ProcessEnvironment();

/// A variable's number, 0 or more. Unset if the variable is not set or is no number.
std::optional<int> NumberOf(const char* variable);

// What Slurm says about this host. Unset if Slurm did not start the process, or if a variable is
// not as expected.
/// Ranks that srun started here.
std::optional<int> SlurmTasks(const Environment& environment);
/// CPUs of the job step.
std::optional<int> SlurmStepCpus(const Environment& environment);
/// CPUs of the whole job, which are at least those of the step.
std::optional<int> SlurmJobCpus(const Environment& environment);

}  // namespace scorecast::launcher
