#pragma once

#include <vector>

#include <sys/types.h>

namespace scorecast::bench {

/// Seconds that all threads of a process were on a CPU, for it and for the system on its behalf, in
/// steps of CpuTick(). std::runtime_error where there is no such process.
double CpuSeconds(pid_t pid);

/// Seconds.
double CpuTick();

/// Of all threads of some processes that are alive, from the scheduler's own books.
struct CpuDemand {
  double used = 0;    ///< Seconds on a CPU.
  double waited = 0;  ///< Seconds ready to run while the CPU ran something else.

  /// How much of the time that they wanted a CPU they had none: what other programs on the machine
  /// did to a figure. 0 where they wanted none.
  double WaitShare() const { return used + waited > 0 ? waited / (used + waited) : 0; }
};

CpuDemand operator-(const CpuDemand& a, const CpuDemand& b);
CpuDemand& operator+=(CpuDemand& a, const CpuDemand& b);

/// std::runtime_error where the kernel does not tell.
CpuDemand CpuDemandOf(const std::vector<pid_t>& pids);

}  // namespace scorecast::bench
