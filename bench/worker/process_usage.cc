#include "bench/worker/process_usage.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include <sys/resource.h>

namespace scorecast::bench {
namespace {

/// Of the samples of MemoryPeak.
constexpr auto kPeriod = std::chrono::milliseconds(5);

double SecondsOf(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

double ProcessCpuSeconds() { return SecondsOf(CLOCK_PROCESS_CPUTIME_ID); }

double ThreadCpuSeconds() { return SecondsOf(CLOCK_THREAD_CPUTIME_ID); }

std::int64_t ProcessPageFaults() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

ResidentMemory ProcessMemory() {
  std::ifstream status("/proc/self/status");
  ResidentMemory memory;
  int found = 0;
  std::string key;
  while (status >> key) {
    std::int64_t* bytes = key == "RssAnon:"    ? &memory.anonymous
                          : key == "RssFile:"  ? &memory.file
                          : key == "RssShmem:" ? &memory.shared
                          : key == "VmHWM:"    ? &memory.peak
                                               : nullptr;
    std::int64_t kilobytes = 0;
    if (bytes != nullptr && status >> kilobytes) {
      *bytes = kilobytes * 1024;
      ++found;
    }
    std::getline(status, key);
  }
  if (found != 4) {
    throw std::runtime_error("/proc/self/status does not have the resident memory");
  }
  return memory;
}

MemoryPeak::MemoryPeak()
    : thread_([this](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
          Look();
          stopped_.wait_for(lock, stop, kPeriod, [] { return false; });
        }
      }) {}

std::int64_t MemoryPeak::Take() {
  const std::lock_guard lock(mutex_);
  Look();
  return std::exchange(most_, 0);
}

void MemoryPeak::Look() {
  const ResidentMemory memory = ProcessMemory();
  most_ = std::max(most_, memory.anonymous + memory.shared);
}

}  // namespace scorecast::bench
