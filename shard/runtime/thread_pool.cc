#include "shard/runtime/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <span>
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
    // If there are more threads than cores, this one may keep the core from those that it waits
    // for.
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

std::uint64_t Share(std::int64_t begin, std::int64_t end) {
  return static_cast<std::uint64_t>(end) << 32U | static_cast<std::uint64_t>(begin);
}

/// Takes the first or the last task of a share; -1 if the share is empty. The share may already
/// belong to a later round than the one that the thread was started for. Then the task belongs to
/// the later round, too.
std::int64_t Take(std::atomic<std::uint64_t>& share, bool last) {
  std::uint64_t seen = share.load(std::memory_order_relaxed);
  while (true) {
    const auto begin = static_cast<std::int64_t>(seen & 0xFFFF'FFFFU);
    const auto end = static_cast<std::int64_t>(seen >> 32U);
    if (begin == end) {
      return -1;
    }
    const std::uint64_t rest = last ? Share(begin, end - 1) : Share(begin + 1, end);
    if (share.compare_exchange_weak(seen, rest, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return last ? end - 1 : begin;
    }
  }
}

}  // namespace

ThreadPool::ThreadPool(int threads) : slots_(static_cast<std::size_t>(std::max(threads, 1))) {
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
  stop_ = true;
  for (Slot& slot : slots_) {
    ++slot.rounds;
    slot.rounds.notify_one();
  }
}

std::uint64_t ThreadPool::tasks_begun() const {
  std::uint64_t begun = 0;
  for (const Slot& slot : slots_) {
    begun += slot.begun.load(std::memory_order_relaxed);
  }
  return begun;
}

void ThreadPool::RunTask(std::int64_t i, int thread) {
  std::atomic<std::uint64_t>& begun = slots_[static_cast<std::size_t>(thread)].begun;
  begun.store(begun.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  task_.call(task_.object, i, thread);
  if (thread == 0) {
    CallBetween();
  }
}

void ThreadPool::TakeTasks(int thread) {
  const auto own = static_cast<std::size_t>(thread);
  std::int64_t taken = 0;
  for (std::size_t next = 0; next < slots_.size(); ++next) {
    std::atomic<std::uint64_t>& share = slots_[(own + next) % slots_.size()].share;
    for (std::int64_t i = Take(share, next > 0); i >= 0; i = Take(share, next > 0)) {
      ++taken;
      if (failed_.load(std::memory_order_relaxed)) {
        continue;
      }
      try {
        RunTask(i, thread);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (fault_ == nullptr) {
          fault_ = std::current_exception();
        }
        failed_.store(true, std::memory_order_relaxed);
      }
    }
  }
  if (taken > 0) {  // Subtracted once for all tasks taken, because all threads write this number.
    left_.fetch_sub(taken, std::memory_order_release);
  }
}

void ThreadPool::Run(std::int64_t count, TaskRef task) {
  proto::Check(count < std::int64_t{1} << 32U, "a share's borders have 32 bits");
  task_ = task;
  const std::int64_t sharers = std::min<std::int64_t>(count, threads());
  if (sharers <= 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      RunTask(i, 0);
    }
    return;
  }
  failed_.store(false, std::memory_order_relaxed);
  left_.store(count, std::memory_order_relaxed);
  const std::span<Slot> sharing = std::span(slots_).first(static_cast<std::size_t>(sharers));
  std::int64_t begin = 0;
  for (std::int64_t t = 0; t < sharers; ++t) {
    const std::int64_t end = count * (t + 1) / sharers;
    sharing[static_cast<std::size_t>(t)].share.store(Share(begin, end), std::memory_order_release);
    begin = end;
  }
  for (Slot& slot : sharing.subspan(1)) {
    ++slot.rounds;
    slot.rounds.notify_one();
  }
  TakeTasks(0);
  while (!Poll([this] { return left_.load(std::memory_order_acquire) == 0; })) {
    CallBetween();
  }
  if (fault_ != nullptr) {
    std::rethrow_exception(std::exchange(fault_, nullptr));
  }
}

void ThreadPool::Work(int thread) {
  std::atomic<std::uint32_t>& rounds = slots_[static_cast<std::size_t>(thread)].rounds;
  std::uint32_t seen = 0;
  while (true) {
    if (!Poll([&] { return rounds.load(std::memory_order_acquire) != seen; })) {
      rounds.wait(seen, std::memory_order_acquire);
    }
    seen = rounds.load(std::memory_order_acquire);
    if (stop_) {
      return;
    }
    TakeTasks(thread);
  }
}

}  // namespace scorecast::shard
