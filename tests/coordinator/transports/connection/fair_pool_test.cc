#include "coordinator/transports/connection/fair_pool.h"

#include <cstdint>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/eventually.h"

namespace scorecast::coordinator {
namespace fair_pool_test {

using ::testing::ElementsAre;

/// A connection of the address with the number.
ClientId From(unsigned address, std::uint64_t connection = 0) {
  return {std::to_string(address), connection};
}

/// Names of pieces of work, in the order in which they were done.
class Order {
 public:
  FairPool::Work Adding(const std::string& name) {
    return [this, name] {
      const std::lock_guard lock(mutex_);
      names_.push_back(name);
    };
  }
  std::vector<std::string> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> names_;
};

/// Work that is under way until the test ends it.
class Gate {
 public:
  FairPool::Work Work() {
    return [this] {
      begun_.set_value();
      end_.get_future().wait();
    };
  }
  void WaitUntilBegun() { begun_.get_future().wait(); }
  void End() { end_.set_value(); }

 private:
  std::promise<void> begun_;
  std::promise<void> end_;
};

TEST(FairPool, AddressesTakeTurns) {
  Order order;
  Gate gate;
  FairPool pool(1);
  pool.Post(From(1), gate.Work());
  gate.WaitUntilBegun();
  for (const char* name : {"1a", "1b", "1c"}) {
    pool.Post(From(1), order.Adding(name));
  }
  pool.Post(From(2), order.Adding("2a"));
  pool.Post(From(3), order.Adding("3a"));
  pool.Post(From(2), order.Adding("2b"));
  gate.End();
  pool.Join();
  EXPECT_THAT(order.names(), ElementsAre("2a", "3a", "1a", "2b", "1b", "1c"));
}

TEST(FairPool, TheConnectionsOfAnAddressTakeTurnsAtItsTurns) {
  Order order;
  Gate gate;
  FairPool pool(1);
  pool.Post(From(1, 1), gate.Work());
  gate.WaitUntilBegun();
  for (const char* name : {"1.1a", "1.1b", "1.1c"}) {
    pool.Post(From(1, 1), order.Adding(name));
  }
  pool.Post(From(1, 2), order.Adding("1.2a"));
  pool.Post(From(1, 3), order.Adding("1.3a"));
  pool.Post(From(1, 2), order.Adding("1.2b"));
  pool.Post(From(2, 4), order.Adding("2.4a"));
  pool.Post(From(2, 4), order.Adding("2.4b"));
  gate.End();
  pool.Join();
  EXPECT_THAT(order.names(),
              ElementsAre("2.4a", "1.2a", "2.4b", "1.3a", "1.1a", "1.2b", "1.1b", "1.1c"))
      << "the first turn of connection 1.1 was the gate's";
}

TEST(FairPool, NetworksTakeTurnsAndAtTheirTurnsTheirAddresses) {
  Order order;
  Gate gate;
  FairPool pool(1);
  pool.Post({"gate", 0, "gate"}, gate.Work());
  gate.WaitUntilBegun();
  for (const char* address : {"a", "b", "c"}) {
    pool.Post({address, 0, "net"}, order.Adding(address));
  }
  pool.Post({"d", 1, "other"}, order.Adding("d1"));
  pool.Post({"d", 1, "other"}, order.Adding("d2"));
  gate.End();
  pool.Join();
  EXPECT_THAT(order.names(), ElementsAre("a", "d1", "b", "d2", "c"));
}

TEST(FairPool, AThreadGoesToTheAddressThatOccupiesTheFewest) {
  Order order;
  Gate first;
  Gate second;
  FairPool pool(2);
  pool.Post(From(1), first.Work());
  pool.Post(From(2), second.Work());
  first.WaitUntilBegun();
  second.WaitUntilBegun();
  // Address 1 came first, but its other work is still under way when a thread is free.
  pool.Post(From(1), order.Adding("1a"));
  pool.Post(From(3), order.Adding("3a"));
  second.End();
  EXPECT_TRUE(scorecast::testing::Eventually([&] { return order.names().size() == 2; }));
  EXPECT_THAT(order.names(), ElementsAre("3a", "1a"));
  first.End();
}

TEST(FairPool, AnAddressAloneOccupiesAllThreads) {
  Gate first;
  Gate second;
  FairPool pool(2);
  pool.Post(From(1), first.Work());
  pool.Post(From(1), second.Work());
  first.WaitUntilBegun();
  second.WaitUntilBegun();
  first.End();
  second.End();
}

TEST(FairPool, DropsWorkAfterItsEnd) {
  Order order;
  FairPool pool(2);
  pool.Post(From(1), order.Adding("1a"));
  pool.Join();
  pool.Post(From(1), order.Adding("1b"));
  pool.Join();
  EXPECT_THAT(order.names(), ElementsAre("1a"));
}

}  // namespace fair_pool_test
}  // namespace scorecast::coordinator
