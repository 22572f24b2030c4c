#include "launcher/log/status_log.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <utility>

#include <semaphore.h>

#include "launcher/engine/engine.h"
#include "proto/base/count.h"
#include "proto/log/log.h"

namespace scorecast::launcher {
namespace {

constexpr time_t kIntervalSeconds = 10;

/// Raised by each signal, and by the end of a StatusLog. Blocking the signal and waiting for it
/// would not work: libraries start threads before main, and in these threads it would not be
/// blocked.
sem_t asked;

/// Waits for the semaphore until `end`, a time of CLOCK_MONOTONIC. False if the time ran out.
bool WaitUntilAsked(const timespec& end) {
  while (sem_clockwait(&asked, CLOCK_MONOTONIC, &end) != 0) {
    if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

void CatchStatusSignal() {
  sem_init(&asked, /*pshared=*/0, /*value=*/0);
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int interrupted = errno;
    sem_post(&asked);
    errno = interrupted;
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR2, &action, nullptr);
}

StatusLog::StatusLog(std::function<coordinator::ServiceStatus()> status)
    : status_(std::move(status)), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

StatusLog::~StatusLog() {
  thread_.request_stop();
  sem_post(&asked);
}

void StatusLog::Run(const std::stop_token& stop) {
  // A rank lags by what it did since `before`, which is one to two intervals ago.
  proto::ClusterStatus before = status_().cluster;
  proto::ClusterStatus last = before;
  timespec next{};
  clock_gettime(CLOCK_MONOTONIC, &next);
  next.tv_sec += kIntervalSeconds;
  while (true) {
    const bool is_asked = WaitUntilAsked(next);
    if (stop.stop_requested()) {
      return;
    }
    coordinator::ServiceStatus status = status_();
    const auto level = is_asked ? proto::LogLevel::kInfo : proto::LogLevel::kDebug;
    if (proto::ShouldLog(level)) {
      for (const std::string& line : coordinator::LinesOf(status, before)) {
        proto::Log(level, line);
      }
    }
    if (!is_asked) {
      before = std::exchange(last, std::move(status.cluster));
      next.tv_sec += kIntervalSeconds;
    }
  }
}

void LogCache(const coordinator::BlockCacheCounters& counters, const Engine& engine) {
  if (engine.cached_pages() > 0) {
    const auto bytes = static_cast<double>(counters.cached_pages * engine.page_bytes());
    proto::LogInfo("cache: {} of {} found, {:.2f} MB held on a rank, {} evicted",
                   counters.hit_tokens, proto::Count(counters.asked_tokens, "token"), bytes * 1e-6,
                   proto::Count(counters.evicted_pages, "page"));
  }
}

}  // namespace scorecast::launcher
