#include "coordinator/transports/connection/turn_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/eventually.h"

namespace scorecast::coordinator {
namespace turn_pool_test {

using ::testing::ElementsAre;
using Turn = TurnPool::Turn;

constexpr auto kStep = std::chrono::milliseconds(1);

/// A connection of the address with the number.
ClientId From(unsigned address, std::uint64_t connection = 0) {
  return {std::to_string(address), connection};
}

/// A pool whose clock only its work moves.
class TurnPoolTest : public ::testing::Test {
 protected:
  TurnPool::Options Options(int under_way = 1) {
    return {.under_way = under_way, .quantum = kStep, .now = [this] {
              ++looks_;
              return Clock::time_point(kStep * steps_.load());
            }};
  }

  /// Work of `steps` steps, which take a quantum each. It adds the name at each.
  TurnPool::Work Steps(const std::string& name, int steps) {
    return [this, name, steps](Turn& turn) {
      for (int i = 0; i < steps; ++i) {
        Step(name, turn);
      }
    };
  }
  void Step(const std::string& name, Turn& turn) {
    Add(name);
    ++steps_;
    turn.GiveWay();
  }
  void Add(const std::string& name) {
    const std::lock_guard lock(mutex_);
    names_.push_back(name);
  }
  std::vector<std::string> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }
  std::size_t CountOf(const std::string& name) {
    const std::vector<std::string> all = names();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), name));
  }

  /// Work that has its turn until Open is called. Then it takes no time.
  TurnPool::Work Gate() {
    return [this](Turn&) {
      begun_.set_value();
      open_.get_future().wait();
    };
  }
  void WaitAtGate() { begun_.get_future().wait(); }
  void Open() { open_.set_value(); }

  std::atomic<int> steps_ = 0;
  std::atomic<int> looks_ = 0;  ///< At the clock.

 private:
  std::promise<void> begun_;
  std::promise<void> open_;
  std::mutex mutex_;
  std::vector<std::string> names_;
};

TEST_F(TurnPoolTest, LongWorkGivesWayToOtherAddresses) {
  TurnPool pool(Options());
  pool.Post(From(9), Gate());
  WaitAtGate();
  pool.Post(From(1), Steps("long", 4));
  pool.Post(From(2), Steps("short", 1));
  pool.Post(From(3), Steps("two", 2));
  Open();
  pool.Join();
  EXPECT_THAT(names(), ElementsAre("long", "short", "two", "long", "two", "long", "long"));
}

TEST_F(TurnPoolTest, LongWorkGivesWayToWorkThatComesLater) {
  TurnPool pool(Options());
  pool.Post(From(1), [&](Turn& turn) {
    Step("long", turn);
    pool.Post(From(2), Steps("short", 1));
    Step("long", turn);
    Step("long", turn);
  });
  EXPECT_TRUE(scorecast::testing::Eventually([&] { return names().size() == 4; }));
  pool.Join();
  EXPECT_THAT(names(), ElementsAre("long", "long", "short", "long"));
}

TEST_F(TurnPoolTest, ConnectionsOfAnAddressShareItsTurns) {
  TurnPool pool(Options());
  pool.Post(From(9), Gate());
  WaitAtGate();
  pool.Post(From(1, 1), Steps("1.1", 2));
  pool.Post(From(1, 2), Steps("1.2", 2));
  pool.Post(From(2, 1), Steps("2.1", 3));
  Open();
  pool.Join();
  EXPECT_THAT(names(), ElementsAre("1.1", "2.1", "1.2", "2.1", "1.1", "2.1", "1.2"));
}

TEST_F(TurnPoolTest, WorkOfOneConnectionBeginsWhenThatBeforeItIsDone) {
  TurnPool pool(Options());
  pool.Post(From(9), Gate());
  WaitAtGate();
  pool.Post(From(1), Steps("first", 3));
  pool.Post(From(1), Steps("second", 1));
  Open();
  pool.Join();
  EXPECT_THAT(names(), ElementsAre("first", "first", "first", "second"));
}

TEST_F(TurnPoolTest, ATurnLastsForAQuantum) {
  TurnPool::Options options = Options();
  options.quantum = 3 * kStep;
  TurnPool pool(options);
  pool.Post(From(9), Gate());
  WaitAtGate();
  pool.Post(From(1), Steps("a", 5));
  pool.Post(From(2), Steps("b", 4));
  Open();
  pool.Join();
  EXPECT_THAT(names(), ElementsAre("a", "a", "a", "b", "b", "b", "a", "a", "b"));
}

TEST_F(TurnPoolTest, WorkAloneDoesNotLookAtTheClock) {
  TurnPool pool(Options());
  pool.Post(From(1), Steps("alone", 1000));
  pool.Join();
  EXPECT_EQ(names().size(), 1000u);
  EXPECT_EQ(looks_, 2);
}

TEST_F(TurnPoolTest, OnlySoMuchWorkHasATurnAtTheSameTime) {
  constexpr int kUnderWay = 3;
  TurnPool pool(Options(kUnderWay));
  std::atomic<int> under_way = 0;
  std::atomic<int> most = 0;
  for (unsigned client = 0; client < 40; ++client) {
    pool.Post(From(client % 8, client), [&](Turn& turn) {
      for (int i = 0; i < 50; ++i) {
        const int now = ++under_way;
        int before = most;
        while (now > before && !most.compare_exchange_weak(before, now)) {
        }
        ++steps_;
        --under_way;
        turn.GiveWay();
      }
      Add("done");
    });
  }
  pool.Join();
  EXPECT_EQ(names().size(), 40u);
  EXPECT_LE(most, kUnderWay);
}

TEST_F(TurnPoolTest, AnAddressAloneHasAllTurns) {
  TurnPool pool(Options(2));
  std::promise<void> second;
  pool.Post(From(1), Gate());
  pool.Post(From(1), [&](Turn&) { second.set_value(); });
  WaitAtGate();
  second.get_future().wait();
  Open();
}

TEST_F(TurnPoolTest, WorkThatHasBegunIsBoundedAndOthersHaveRoom) {
  TurnPool::Options options = Options();
  options.max_begun = 8;
  TurnPool pool(options);
  pool.Post(From(9), Gate());
  WaitAtGate();
  std::atomic<bool> ends = false;
  std::atomic<int> begun = 0;
  for (unsigned connection = 0; connection < 20; ++connection) {
    pool.Post(From(1, connection), [&](Turn& turn) {
      ++begun;
      while (!ends) {
        Step("long", turn);
      }
    });
  }
  Open();
  // Until it has as much begun work as is left for others.
  EXPECT_TRUE(scorecast::testing::Eventually([&] { return CountOf("long") > 100; }));
  EXPECT_EQ(begun, 4);
  for (unsigned address = 2; address < 5; ++address) {
    pool.Post(From(address), Steps("other", 3));
  }
  EXPECT_TRUE(scorecast::testing::Eventually([&] { return CountOf("other") == 9; }));
  EXPECT_EQ(begun, 4);
  ends = true;
  pool.Join();
  EXPECT_EQ(begun, 20);
}

TEST_F(TurnPoolTest, JoinEndsWithWorkThatHasGivenWay) {
  TurnPool pool(Options());
  pool.Post(From(9), Gate());
  WaitAtGate();
  for (unsigned address = 0; address < 20; ++address) {
    pool.Post(From(address), Steps("a", 10));
  }
  std::promise<void> joins;
  std::thread joining([&] {
    joins.set_value();
    pool.Join();
  });
  joins.get_future().wait();
  Open();
  joining.join();
  EXPECT_EQ(names().size(), 200u);
}

TEST_F(TurnPoolTest, DropsWorkAfterItsEnd) {
  TurnPool pool(Options());
  pool.Post(From(1), Steps("before", 1));
  pool.Join();
  pool.Post(From(1), Steps("after", 1));
  pool.Join();
  EXPECT_THAT(names(), ElementsAre("before"));
}

}  // namespace turn_pool_test
}  // namespace scorecast::coordinator
