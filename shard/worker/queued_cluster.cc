#include "shard/worker/queued_cluster.h"

#include <utility>

namespace scorecast::shard {

void QueuedCluster::Submit(proto::ForwardPlan plan, PlanDone done) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(plan), std::move(done)});
  }
  changed_.notify_one();
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
  changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  if (queue_.empty()) {
    return std::nullopt;
  }
  Entry entry = std::move(queue_.front());
  queue_.pop_front();
  return entry;
}

}  // namespace scorecast::shard
