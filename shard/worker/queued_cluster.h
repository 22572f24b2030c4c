#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "proto/plan/cluster.h"
#include "shard/worker/plan_runner.h"

namespace scorecast::shard {

/// The real Cluster, on rank 0. Any thread may submit plans; the one thread that calls MPI runs
/// them.
class QueuedCluster : public proto::Cluster {
 public:
  QueuedCluster(PlanRunner& runner, const proto::PlanLimits& limits)
      : runner_(runner), limits_(limits) {}

  void Submit(proto::ForwardPlan plan, PlanDone done) override;
  void ParallelFor(std::int64_t count, const std::function<void(std::int64_t)>& task) override;
  const proto::PlanLimits& limits() const override { return limits_; }
  proto::ClusterStatus Status() const override { return runner_.Status(); }

  /// Runs plans on the calling thread. Returns when Stop was called and the queue is empty.
  void Run();
  /// Any thread may call it.
  void Stop();

 private:
  struct Entry {
    proto::ForwardPlan plan;
    PlanDone done;
  };

  /// Waits for an entry. Nullopt if no more will come.
  std::optional<Entry> Next();

  PlanRunner& runner_;
  const proto::PlanLimits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;
  bool stopping_ = false;
};

}  // namespace scorecast::shard
