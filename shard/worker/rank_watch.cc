#include "shard/worker/rank_watch.h"

#include <utility>

#include <pthread.h>

#include "proto/base/check.h"
#include "proto/mpi/agreement.h"

namespace scorecast::shard {
namespace {

clockid_t CpuClockOfThisThread() {
  clockid_t clock{};
  proto::Check(pthread_getcpuclockid(pthread_self(), &clock) == 0, "every thread has a CPU clock");
  return clock;
}

}  // namespace

RankWatch::RankWatch(const proto::Communicator& group, WatchOptions options,
                     const Progress& progress, const ThreadPool& pool)
    : rank_(group.rank()),
      options_(std::move(options)),
      progress_(progress),
      pool_(pool),
      cpu_clock_(CpuClockOfThisThread()),
      watchdog_(options_.limits, rank_, group.AllGather(proto::HostName())) {}

double RankWatch::CpuSeconds() const {
  timespec time{};
  clock_gettime(cpu_clock_, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

RankReport RankWatch::OwnReport() const {
  RankReport report;
  report.state = progress_.state();
  report.step = progress_.step();
  report.pass = progress_.pass();
  report.tasks = pool_.tasks_begun();
  report.computed_seconds = progress_.ComputedSeconds(Progress::Clock::now());
  report.cpu_seconds = CpuSeconds();
  report.expected_seconds = progress_.expected_seconds();
  report.work = progress_.Work();
  return report;
}

void RankWatch::Heard(int rank, const RankReport& report) {
  const std::lock_guard lock(mutex_);
  watchdog_.Heard(rank, report);
}

void RankWatch::StartupIsOver() {
  const std::lock_guard lock(mutex_);
  watchdog_.StartupIsOver();
}

std::optional<std::string> RankWatch::Tick() {
  const RankReport own = OwnReport();
  Watchdog::Verdict verdict;
  {
    const std::lock_guard lock(mutex_);
    watchdog_.Heard(rank_, own);
    verdict = watchdog_.Tick(Watchdog::Clock::now());
  }
  for (const std::string& warning : verdict.warnings) {
    options_.warn(warning);
  }
  return verdict.end;
}

proto::ClusterStatus RankWatch::Status() const {
  const RankReport own = OwnReport();
  const std::lock_guard lock(mutex_);
  return watchdog_.Status(own);
}

}  // namespace scorecast::shard
