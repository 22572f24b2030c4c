#pragma once

#include <vector>

#include <sys/types.h>

namespace scorecast::bench {

/// CPU seconds of all threads of a process, in user and in kernel mode, in steps of CpuTick().
/// Throws std::runtime_error if there is no such process.
double CpuSeconds(pid_t pid);

/// The resolution of CpuSeconds, in seconds.
double CpuTick();

/// CPU time of all threads of some processes, as the scheduler counts it.
struct CpuDemand {
  double used = 0;    ///< Seconds on a CPU.
  double waited = 0;  ///< Seconds ready to run while the CPU ran something else.

  /// The share of the time in which threads were ready to run but had no CPU. It shows how much
  /// other programs of the machine disturbed a figure. 0 if no thread was ever ready.
  double WaitShare() const { return used + waited > 0 ? waited / (used + waited) : 0; }
};

CpuDemand operator-(const CpuDemand& a, const CpuDemand& b);
CpuDemand& operator+=(CpuDemand& a, const CpuDemand& b);

/// Throws std::runtime_error if the kernel does not have these figures.
CpuDemand CpuDemandOf(const std::vector<pid_t>& pids);

}  // namespace scorecast::bench
