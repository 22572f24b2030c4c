#pragma once

#include <sys/types.h>

namespace scorecast::bench {

/// Seconds that all threads of a process were on a CPU, for it and for the system on its behalf, in
/// steps of CpuTick(). std::runtime_error where there is no such process.
double CpuSeconds(pid_t pid);

/// Seconds.
double CpuTick();

}  // namespace scorecast::bench
