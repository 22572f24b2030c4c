#include "shard/runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/error.h"

namespace scorecast::shard {
namespace thread_pool_test {

class ThreadPoolTest : public ::testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, CallsEveryIndexOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.threads(), GetParam());
  for (const std::int64_t count : {0, 1, 2, 3, 7, 64, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    std::atomic<int> wrong_threads = 0;
    pool.ParallelFor(count, [&](std::int64_t i, int thread) {
      ++calls[static_cast<std::size_t>(i)];
      wrong_threads += thread < 0 || thread >= GetParam() ? 1 : 0;
    });
    for (const std::atomic<int>& n : calls) {
      ASSERT_EQ(n, 1) << "count " << count;
    }
    ASSERT_EQ(wrong_threads, 0);
  }
}

// No two tasks run with the same thread number at the same time, so per-thread data need no lock.
TEST_P(ThreadPoolTest, NoTwoTasksOfOneThreadNumberAtOnce) {
  ThreadPool pool(GetParam());
  std::vector<std::int64_t> sums(static_cast<std::size_t>(GetParam()));
  constexpr std::int64_t kCount = 20'000;
  pool.ParallelFor(kCount, [&](std::int64_t i, int thread) {
    sums[static_cast<std::size_t>(thread)] += i;  // A race if two tasks had the same number.
  });
  std::int64_t sum = 0;
  for (const std::int64_t part : sums) {
    sum += part;
  }
  EXPECT_EQ(sum, kCount * (kCount - 1) / 2);
}

// A round sees the writes of all earlier rounds, and begins only after the previous one has ended.
TEST_P(ThreadPoolTest, ManyTinyRounds) {
  ThreadPool pool(GetParam());
  constexpr int kRounds = 1'000;
  std::vector<std::int64_t> values(5, 0);
  for (int round = 0; round < kRounds; ++round) {
    const auto count = static_cast<std::int64_t>(round % 6);
    pool.ParallelFor(
        count, [&](std::int64_t i, int) { ++values[static_cast<std::size_t>((i + round) % 5)]; });
  }
  std::vector<std::int64_t> expected(5, 0);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < round % 6; ++i) {
      ++expected[static_cast<std::size_t>((i + round) % 5)];
    }
  }
  EXPECT_EQ(values, expected);
}

// The pause is longer than a worker polls, so that it sleeps and must be woken.
TEST_P(ThreadPoolTest, WakesAfterSleep) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    std::atomic<int> calls = 0;
    pool.ParallelFor(100, [&](std::int64_t, int) { ++calls; });
    ASSERT_EQ(calls, 100);
  }
}

TEST_P(ThreadPoolTest, EndsWhetherUsedOrNot) {
  for (int round = 0; round < 50; ++round) {
    ThreadPool unused(GetParam());
  }
  for (int round = 0; round < 50; ++round) {
    ThreadPool pool(GetParam());
    std::atomic<int> calls = 0;
    pool.ParallelFor(3, [&](std::int64_t, int) { ++calls; });
    ASSERT_EQ(calls, 3);
  }
}

/// Holds the calling task until `count` tasks have arrived.
void Meet(std::atomic<int>& arrived, int count) {
  ++arrived;
  while (arrived < count) {
    std::this_thread::yield();
  }
}

// A thread takes the first task of its own share, before those of others.
TEST_P(ThreadPoolTest, EachThreadBeginsWithItsShare) {
  ThreadPool pool(GetParam());
  const auto threads = static_cast<std::size_t>(GetParam());
  for (const int tasks_a_thread : {1, 3}) {
    std::vector<int> of_task(threads * static_cast<std::size_t>(tasks_a_thread), -1);
    std::atomic<int> arrived = 0;
    pool.ParallelFor(static_cast<std::int64_t>(of_task.size()), [&](std::int64_t i, int thread) {
      of_task[static_cast<std::size_t>(i)] = thread;
      if (i % tasks_a_thread == 0) {
        Meet(arrived, GetParam());
      }
    });
    for (int thread = 0; thread < GetParam(); ++thread) {
      EXPECT_EQ(of_task[static_cast<std::size_t>(thread * tasks_a_thread)], thread);
    }
  }
}

// The pool's threads have never been started, so that none of them is still looking for tasks.
TEST_P(ThreadPoolTest, StartsNoMoreThreadsThanTasks) {
  for (int count = 1; count <= GetParam(); ++count) {
    ThreadPool pool(GetParam());
    std::atomic<int> largest = 0;
    std::atomic<int> arrived = 0;
    pool.ParallelFor(count, [&](std::int64_t, int thread) {
      Meet(arrived, count);
      int seen = largest;
      while (seen < thread && !largest.compare_exchange_weak(seen, thread)) {
      }
    });
    EXPECT_EQ(largest, count - 1);
  }
}

TEST_P(ThreadPoolTest, CountsTheTasksBegun) {
  ThreadPool pool(GetParam());
  std::uint64_t expected = pool.tasks_begun();
  for (const std::int64_t count : {0, 1, 2, 5, 100}) {
    std::atomic<int> unchanged = 0;
    const std::uint64_t before = pool.tasks_begun();
    pool.ParallelFor(count,
                     [&](std::int64_t, int) { unchanged += pool.tasks_begun() == before ? 1 : 0; });
    EXPECT_EQ(unchanged, 0) << "a task had begun that was not counted";
    expected += static_cast<std::uint64_t>(count);
    EXPECT_EQ(pool.tasks_begun(), expected);
  }
}

// The calling thread calls the function after each of its tasks, until the function is taken away.
TEST_P(ThreadPoolTest, CallsAFunctionBetweenTasks) {
  ThreadPool pool(GetParam());
  const std::thread::id caller = std::this_thread::get_id();
  constexpr std::int64_t kCount = 50;
  int calls = 0;
  int wrong_threads = 0;
  std::atomic<int> tasks_of_caller = 0;
  const auto count_task = [&](std::int64_t, int thread) { tasks_of_caller += thread == 0 ? 1 : 0; };
  pool.CallBetweenTasks([&] {
    ++calls;
    wrong_threads += std::this_thread::get_id() == caller ? 0 : 1;
  });
  pool.ParallelFor(kCount, count_task);
  EXPECT_GE(calls, tasks_of_caller);  // It is also called while the caller waits.
  EXPECT_EQ(wrong_threads, 0);
  if (GetParam() == 1) {
    EXPECT_EQ(calls, kCount);
  }
  calls = 0;
  pool.CallBetweenTasks({});
  pool.ParallelFor(kCount, count_task);
  EXPECT_EQ(calls, 0);
}

// The caller waits for the task of another thread, which ends only when the function was called.
TEST(ThreadPool, CallsAFunctionWhileItWaits) {
  ThreadPool pool(2);
  std::atomic<bool> is_waiting = false;
  std::atomic<bool> was_called = false;
  pool.CallBetweenTasks([&] { was_called = was_called || is_waiting; });
  std::atomic<int> arrived = 0;
  pool.ParallelFor(2, [&](std::int64_t, int thread) {
    Meet(arrived, 2);
    if (thread == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // The caller's task ends.
      is_waiting = true;
      while (!was_called) {
        std::this_thread::yield();
      }
    }
  });
  EXPECT_TRUE(was_called);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(1, 2, 3, 4, 9));

TEST(ThreadPool, RunsOnSeveralThreads) {
  ThreadPool pool(3);
  std::vector<std::thread::id> ids(3);
  std::atomic<int> arrived = 0;
  pool.ParallelFor(3, [&](std::int64_t i, int) {
    ids[static_cast<std::size_t>(i)] = std::this_thread::get_id();
    ++arrived;
    while (arrived < 3) {  // Each task holds its thread until all have one.
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 3U);
}

// A thread holds the first task of its share until all others have ended: other threads take them.
TEST(ThreadPool, OthersTakeTheTasksOfASlowThread) {
  for (const int threads : {2, 3, 4}) {
    ThreadPool pool(threads);
    constexpr int kCount = 40;
    for (int share = 0; share < threads; ++share) {
      const int slow = kCount * share / threads;
      std::atomic<int> done = 0;
      pool.ParallelFor(kCount, [&](std::int64_t i, int) {
        while (i == slow && done < kCount - 1) {
          std::this_thread::yield();
        }
        ++done;
      });
      EXPECT_EQ(done, kCount);
    }
  }
}

// An exception on any thread reaches the caller, and the pool remains usable.
TEST(ThreadPool, RethrowsATasksException) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> running = 0;
      EXPECT_THROW(pool.ParallelFor(100,
                                    [&](std::int64_t i, int) {
                                      ++running;
                                      if (i % 10 == round % 10) {
                                        --running;
                                        throw proto::StartupError("a task's");
                                      }
                                      --running;
                                    }),
                   proto::StartupError);
      EXPECT_EQ(running, 0) << "a task ran on after the call";
      std::atomic<int> done = 0;
      pool.ParallelFor(100, [&](std::int64_t, int) { ++done; });
      EXPECT_EQ(done, 100);
    }
  }
}

// Runs in a child process whose address space has no room for the stacks of so many threads.
TEST(ThreadPool, MoreThreadsThanTheSystemGivesIsAStartupFault) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more address space than this test leaves";
#endif
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // A pool that waits for threads that never end would hang.
    const rlimit limit = {std::size_t{1} << 30, std::size_t{1} << 30};
    setrlimit(RLIMIT_AS, &limit);
    try {
      const ThreadPool pool(4000);
    } catch (const proto::StartupError& fault) {
      const std::string message = fault.what();
      _exit(message.find("4000") != std::string::npos && message.find('\n') == std::string::npos
                ? 0
                : 2);
    }
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

}  // namespace thread_pool_test
}  // namespace scorecast::shard
