#pragma once

#include <functional>
#include <optional>

namespace scorecast::launcher {

/// A variable of the environment; null if it is not set.
using Environment = std::function<const char*(const char* name)>;

/// The environment of this process.
Environment ProcessEnvironment();

/// The value of a variable as a number of at least 0. Unset if the variable is not set or is not
/// such a number.
std::optional<int> NumberOf(const char* variable);

// Slurm's variables about this host. Each is unset if Slurm did not start the process, or if a
// variable has an unexpected form.
//
// Number of ranks that srun started here.
std::optional<int> SlurmTasks(const Environment& environment);
/// CPUs of the job step.
std::optional<int> SlurmStepCpus(const Environment& environment);
/// CPUs of the whole job: at least those of the step.
std::optional<int> SlurmJobCpus(const Environment& environment);

}  // namespace scorecast::launcher
