#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace scorecast::shard {

/// The threads of one rank, including the calling one. Any thread may run any task, in any order,
/// so a task's result must not depend on the thread that runs it or on the tasks that run beside
/// it.
class ThreadPool {
 public:
  /// `threads` ≥ 1 includes the caller. StartupError if the system gives no more threads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// A number that changes as long as tasks are begun. Any thread may call it.
  std::uint64_t tasks_begun() const {
    return (round_.load(std::memory_order_relaxed) << 32U) +
           static_cast<std::uint64_t>(next_.load(std::memory_order_relaxed));
  }

  /// Calls task(i, thread) for every i in [0, count), thread in [0, threads()), and returns when
  /// all are done. If tasks throw, it throws the first exception again, after the last task has
  /// ended. Not reentrant; called by one thread only. Allocates nothing.
  template <typename Task>
  void ParallelFor(std::int64_t count, Task&& task) {
    using Plain = std::remove_reference_t<Task>;
    Run(count, {const_cast<void*>(static_cast<const void*>(&task)),
                [](void* object, std::int64_t i, int thread) {
                  (*static_cast<Plain*>(object))(i, thread);
                }});
  }

 private:
  struct TaskRef {
    void* object = nullptr;
    void (*call)(void* object, std::int64_t i, int thread) = nullptr;
  };

  void Run(std::int64_t count, TaskRef task);
  void Work(int thread);
  void TakeTasks(int thread);
  void StopWorkers();

  TaskRef task_;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_ = 0;
  std::atomic<int> running_ = 0;          // Workers that have not finished this round.
  std::atomic<std::uint64_t> round_ = 0;  // Raised to start a round.
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::exception_ptr fault_;  // The first of this round; guarded by mutex_.
  std::condition_variable start_;
  std::vector<std::jthread> workers_;  // Last, so that the threads end before the members they use.
};

}  // namespace scorecast::shard
