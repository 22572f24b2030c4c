#include "shard/worker/queued_cluster.h"

#include <chrono>
#include <utility>

namespace scorecast::shard {
namespace {

/// How often an idle service checks whether its files were changed.
constexpr auto kWeightsCheckPeriod = std::chrono::seconds(1);

}  // namespace

void QueuedCluster::Submit(proto::ForwardPlan plan, PlanDone done) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(plan), std::move(done)});
  }
  changed_.notify_one();
}

void QueuedCluster::ParallelFor(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  runner_.ParallelFor(count, task);
}

void QueuedCluster::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
}

void QueuedCluster::Run() {
  while (std::optional<Entry> entry = Next()) {
    entry->done(runner_.Run(entry->plan));
  }
}

std::optional<QueuedCluster::Entry> QueuedCluster::Next() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kWeightsCheckPeriod,
                            [this] { return stopping_ || !queue_.empty(); })) {
    lock.unlock();
    runner_.CheckWeights();
    lock.lock();
  }
  if (queue_.empty()) {
    return std::nullopt;
  }
  Entry entry = std::move(queue_.front());
  queue_.pop_front();
  return entry;
}

}  // namespace scorecast::shard
