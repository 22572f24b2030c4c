#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace scorecast::shard {

/// The threads of one rank, including the calling one. Any thread may run any task, in any order,
/// so a task's result must not depend on the thread that runs it or on the tasks that run beside
/// it. Each thread begins with a share of neighbouring tasks. The share is the same in every loop
/// with the same number of tasks, so the data of a task are often still in the thread's cache, or
/// in memory near its core. A thread that has finished its share takes tasks from the ends of the
/// others' shares.
class ThreadPool {
 public:
  /// `threads` ≥ 1 includes the caller. StartupError if the system gives no more threads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(slots_.size()); }

  /// From now on, the thread that calls ParallelFor also makes this call: after each of its tasks,
  /// and now and then while it waits for the tasks of the other threads. An empty function ends
  /// that.
  void CallBetweenTasks(std::function<void()> call) { between_tasks_ = std::move(call); }

  /// A number that changes as long as tasks are begun. Any thread may call it.
  std::uint64_t tasks_begun() const;

  /// Calls task(i, thread) for every i in [0, count), thread in [0, threads()), and returns when
  /// all are done. Wakes no more threads than there are tasks. If tasks throw, it throws the first
  /// exception again, after the last task has ended. Not reentrant; called by one thread only.
  /// Allocates nothing. `count` is below 2³².
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

  /// The part of a thread's state that the other threads see. Each slot has cache lines of its own.
  struct alignas(128) Slot {
    std::atomic<std::uint64_t> share = 0;   // Tasks to take: the first, and the end in the upper
                                            // half.
    std::atomic<std::uint32_t> rounds = 0;  // Raised to start a round on this thread, or to end it.
    std::atomic<std::uint64_t> begun = 0;   // Tasks begun; only this thread writes it.
  };

  void Run(std::int64_t count, TaskRef task);
  void Work(int thread);
  /// Runs tasks until all are taken.
  void TakeTasks(int thread);
  void RunTask(std::int64_t i, int thread);
  void CallBetween() const {
    if (between_tasks_) {
      between_tasks_();
    }
  }
  void StopWorkers();

  // Written before the shares. A thread that has taken a task therefore sees these members' new
  // values.
  TaskRef task_;
  std::function<void()> between_tasks_;  // Only the calling thread uses it.
  std::atomic<std::int64_t> left_ = 0;   // Tasks that have not ended.
  std::atomic<bool> failed_ = false;     // Tasks not yet begun are skipped.
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::exception_ptr fault_;  // The first of this round; guarded by mutex_.
  std::vector<Slot> slots_;
  std::vector<std::jthread> workers_;  // Last, so that the threads end before the members they use.
};

}  // namespace scorecast::shard
