#pragma once

#include <ctime>

namespace scorecast {

/// CPU time of the calling thread, in seconds. Unlike the time of a clock, it does not depend on
/// what else the machine does.
inline double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace scorecast
