#pragma once

#include <ctime>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "proto/mpi/communicator.h"
#include "proto/plan/cluster_status.h"
#include "shard/runtime/progress.h"
#include "shard/runtime/thread_pool.h"
#include "shard/worker/watchdog.h"

namespace scorecast::shard {

struct WatchOptions {
  WatchLimits limits;
  /// Receives warnings, one line each, on a thread of the doorbell.
  std::function<void(const std::string& line)> warn = [](const std::string&) {};
};

/// This rank's watchdog, with real clocks. The doorbell's thread feeds it: see Doorbell. Safe to
/// call from any thread.
class RankWatch {
 public:
  /// Collective. Made by the computing thread, whose CPU time it measures. `progress` and `pool`
  /// outlive it.
  RankWatch(const proto::Communicator& group, WatchOptions options, const Progress& progress,
            const ThreadPool& pool);

  RankReport OwnReport() const;
  void Heard(int rank, const RankReport& report);
  /// Called when every rank has started.
  void StartupIsOver();
  /// Called every kReportPeriod. Logs warnings. Returns why the job has to end, or nullopt.
  std::optional<std::string> Tick();

  /// On other ranks than rank 0 it is incomplete.
  proto::ClusterStatus Status() const;

 private:
  double CpuSeconds() const;

  const int rank_;
  const WatchOptions options_;
  const Progress& progress_;
  const ThreadPool& pool_;
  clockid_t cpu_clock_;
  mutable std::mutex mutex_;
  Watchdog watchdog_;  // Guarded by mutex_.
};

}  // namespace scorecast::shard
