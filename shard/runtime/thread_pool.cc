#include "shard/runtime/thread_pool.h"

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "proto/base/check.h"
#include "proto/base/error.h"

namespace scorecast::shard {
namespace {

// A pass is a chain of short parallel loops. After a loop, a worker polls for about this long
// before it sleeps, which saves waking it for each loop. Between passes it sleeps.
constexpr auto kPollTime = std::chrono::microseconds(100);

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Polls for a while until `ready`; true if it became ready.
template <typename Ready>
bool Poll(Ready ready) {
  const auto end = std::chrono::steady_clock::now() + kPollTime;
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) {
        return true;
      }
      Pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  proto::Check(threads >= 1, "a pool has at least the calling thread");
  try {
    for (int t = 1; t < threads; ++t) {
      workers_.emplace_back([this, t] { Work(t); });
    }
  } catch (const std::system_error& fault) {
    StopWorkers();  // They are joined when the members are destroyed.
    throw proto::StartupError("cannot start " + std::to_string(threads) +
                              " threads: " + fault.what());
  }
}

ThreadPool::~ThreadPool() { StopWorkers(); }

void ThreadPool::StopWorkers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    ++round_;
  }
  start_.notify_all();
}

void ThreadPool::TakeTasks(int thread) {
  while (true) {
    const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= count_) {
      return;
    }
    try {
      task_.call(task_.object, i, thread);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (fault_ == nullptr) {
        fault_ = std::current_exception();
      }
      next_.store(count_, std::memory_order_relaxed);
    }
  }
}

void ThreadPool::Run(std::int64_t count, TaskRef task) {
  if (count <= 0) {
    return;
  }
  if (workers_.empty() || count == 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      next_.store(i, std::memory_order_relaxed);  // For tasks_begun only.
      task.call(task.object, i, 0);
    }
    return;
  }
  task_ = task;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    round_.fetch_add(1, std::memory_order_release);
  }
  start_.notify_all();
  TakeTasks(0);
  while (!Poll([this] { return running_.load(std::memory_order_acquire) == 0; })) {
    std::this_thread::yield();
  }
  if (fault_ != nullptr) {
    std::rethrow_exception(std::exchange(fault_, nullptr));
  }
}

void ThreadPool::Work(int thread) {
  std::uint64_t seen = 0;
  while (true) {
    const auto started = [&] { return round_.load(std::memory_order_acquire) != seen; };
    if (!Poll(started)) {
      std::unique_lock lock(mutex_);
      start_.wait(lock, started);
    }
    seen = round_.load(std::memory_order_acquire);
    if (stop_) {
      return;
    }
    TakeTasks(thread);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace scorecast::shard
