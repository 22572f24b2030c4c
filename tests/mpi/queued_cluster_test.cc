// The real Cluster: any thread may submit plans, and the thread that calls MPI computes them.

#include "shard/worker/queued_cluster.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pass/pass_builder.h"
#include "coordinator/schedule/pass/sequence_run.h"
#include "tests/mpi/engine_harness.h"
#include "tests/reference/directories.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace queued_cluster_test {

using proto::ForwardPlan;
using proto::RowLogits;

const std::filesystem::path kModel =
    std::filesystem::path(reference::kTestsDirectory) / "golden/families/llama";

class QueuedClusterTest : public ::testing::Test {
 protected:
  /// A plan whose logits differ from those of other seeds.
  ForwardPlan PlanOf(int seed) const {
    const auto tokens = [&](std::uint64_t stream, std::size_t count) {
      return reference::RandomTokens(stream * 1000 + static_cast<std::uint64_t>(seed), count,
                                     engine_.config().vocab_size);
    };
    const proto::PackedSequence sequence =
        ItemsSequence(tokens(1, 5), {tokens(2, 3), tokens(3, 1)}, {1, 2});
    coordinator::BlockCache no_cache(0, 0);
    std::vector<RowLogits> results;
    coordinator::SequenceRun run(sequence, results, {}, "", no_cache, engine_.limits());
    coordinator::PassBuilder pass(engine_.limits());
    run.AddWhole(pass);
    return std::move(pass).Take();
  }

  /// The logits of each plan: [plans][reads]; the inner vectors are empty on ranks other than 0.
  std::vector<std::vector<RowLogits>> Expected(int plans) {
    std::vector<std::vector<RowLogits>> expected;
    for (int seed = 0; seed < plans; ++seed) {
      expected.push_back(engine_.Run(PlanOf(seed)));
    }
    return expected;
  }

  /// On rank 0, runs the cluster on this thread and `submit`, which must stop the cluster, on
  /// another. The other ranks follow.
  template <typename Submit>
  void RunBeside(Submit submit) {
    if (!engine_.is_root()) {
      engine_.runner().Follow();
      return;
    }
    shard::QueuedCluster cluster(engine_.runner(), engine_.limits());
    std::thread submitter([&] { submit(cluster); });
    cluster.Run();
    submitter.join();
    engine_.runner().StopFollowers();
  }

  static void ExpectSame(const std::vector<RowLogits>& a, const std::vector<RowLogits>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_TRUE(SameBits(a[i], b[i])) << "read " << i;
    }
  }

  Engine engine_{kModel, {.threads = 1}};
};

TEST_F(QueuedClusterTest, GivesItsLimits) {
  const shard::QueuedCluster cluster(engine_.runner(), engine_.limits());
  EXPECT_EQ(cluster.limits().max_rows, engine_.limits().max_rows);
  EXPECT_EQ(cluster.limits().kept_kv_rows, engine_.limits().kept_kv_rows);
}

TEST_F(QueuedClusterTest, ComputesOnTheRunningThreadInTheOrderOfSubmission) {
  constexpr int kPlans = 12;
  const auto expected = Expected(kPlans);
  const std::thread::id computing = std::this_thread::get_id();
  std::vector<int> order;  // Used on the computing thread only.
  RunBeside([&](shard::QueuedCluster& cluster) {
    for (int seed = 0; seed < kPlans; ++seed) {
      cluster.Submit(PlanOf(seed), [&, seed](const std::vector<RowLogits>& rows) {
        EXPECT_EQ(std::this_thread::get_id(), computing);
        ExpectSame(rows, expected[static_cast<std::size_t>(seed)]);
        order.push_back(seed);
      });
    }
    cluster.Stop();
  });
  if (engine_.is_root()) {
    // Plans that were waiting when Stop was called were computed, too.
    ASSERT_EQ(order.size(), static_cast<std::size_t>(kPlans));
    for (int i = 0; i < kPlans; ++i) {
      EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    }
  }
}

TEST_F(QueuedClusterTest, TakesPlansFromSeveralThreads) {
  constexpr int kThreads = 4;
  constexpr int kPlans = 8;
  const auto expected = Expected(kPlans);
  std::vector<std::vector<int>> order(kThreads);
  RunBeside([&](shard::QueuedCluster& cluster) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int seed = 0; seed < kPlans; ++seed) {
          cluster.Submit(PlanOf(seed), [&, thread, seed](const std::vector<RowLogits>& rows) {
            ExpectSame(rows, expected[static_cast<std::size_t>(seed)]);
            order[static_cast<std::size_t>(thread)].push_back(seed);
          });
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    cluster.Stop();
  });
  for (const std::vector<int>& of_thread : order) {
    // The plans of one thread are computed in its order.
    ASSERT_EQ(of_thread.size(), engine_.is_root() ? std::size_t{kPlans} : 0U);
    EXPECT_TRUE(std::is_sorted(of_thread.begin(), of_thread.end()));
  }
}

// Requests that take several passes submit from `done`, also after Stop while the cluster drains.
TEST_F(QueuedClusterTest, DoneMaySubmit) {
  constexpr int kPlans = 6;
  const auto expected = Expected(kPlans);
  int done = 0;
  std::function<void(shard::QueuedCluster&, int)> submit = [&](shard::QueuedCluster& cluster,
                                                               int seed) {
    cluster.Submit(PlanOf(seed), [&, seed](const std::vector<RowLogits>& rows) {
      ExpectSame(rows, expected[static_cast<std::size_t>(seed)]);
      ++done;
      if (seed + 1 < kPlans) {
        submit(cluster, seed + 1);
      }
    });
  };
  RunBeside([&](shard::QueuedCluster& cluster) {
    submit(cluster, 0);
    cluster.Stop();
  });
  EXPECT_EQ(done, engine_.is_root() ? kPlans : 0);
}

// Objects that a callback holds are destroyed while the cluster holds no lock, so that their
// destructors may call it.
TEST_F(QueuedClusterTest, DestructorsOfObjectsInDoneMaySubmit) {
  std::atomic<int> done = 0;
  RunBeside([&](shard::QueuedCluster& cluster) {
    // Its deleter submits the last plan.
    std::shared_ptr<int> held(new int(0), [&](const int* number) {
      delete number;
      cluster.Submit(PlanOf(1), [&](const std::vector<RowLogits>&) {
        ++done;
        cluster.Stop();
      });
    });
    cluster.Submit(PlanOf(0), [&, held](const std::vector<RowLogits>&) { ++done; });
    held.reset();
  });
  EXPECT_EQ(done, engine_.is_root() ? 2 : 0);
}

TEST_F(QueuedClusterTest, WaitsForPlans) {
  int done = 0;
  RunBeside([&](shard::QueuedCluster& cluster) {
    for (int seed = 0; seed < 3; ++seed) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cluster.Submit(PlanOf(seed), [&](const std::vector<RowLogits>&) { ++done; });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cluster.Stop();
  });
  EXPECT_EQ(done, engine_.is_root() ? 3 : 0);
}

TEST_F(QueuedClusterTest, StopsWithoutPlans) {
  RunBeside([](shard::QueuedCluster& cluster) { cluster.Stop(); });
}

}  // namespace queued_cluster_test
}  // namespace scorecast::testing
