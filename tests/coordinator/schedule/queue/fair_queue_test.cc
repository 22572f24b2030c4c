#include "coordinator/schedule/queue/fair_queue.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/job.h"

namespace scorecast::coordinator {
namespace fair_queue_test {

using ::testing::ElementsAre;

constexpr double kCredit = 4;

class FairQueueTest : public ::testing::Test {
 protected:
  static FairPath Path(const std::string& address, std::uint64_t connection = 0,
                       std::int32_t size_class = 0, std::int32_t priority = 0) {
    return {{address, connection}, priority, size_class};
  }

  void Add(const FairPath& path, double seconds) {
    const FairQueue::Entry entry{++tickets_, 0};
    queue_.Add(path, entry, {.rows = 1});
    jobs_[entry] = {path, seconds};
  }

  /// Serves the entry that is next, whole. Returns its path.
  FairPath Serve() {
    queue_.BeginPass(kCredit);
    const auto next = queue_.Next();
    EXPECT_TRUE(next.has_value());
    const auto [path, seconds] = jobs_.extract(*next).mapped();
    queue_.ChargeNext(seconds);
    queue_.Remove(path, *next);
    served_[path.client.address] += seconds;
    return path;
  }

  std::string ServeAddresses(int times) {
    std::string addresses;
    for (int i = 0; i < times; ++i) {
      addresses += Serve().client.address;
    }
    return addresses;
  }

  FairQueue queue_;
  std::map<FairQueue::Entry, std::pair<FairPath, double>> jobs_;
  std::map<ClientName, double> served_;
  std::uint64_t tickets_ = 0;
};

TEST_F(FairQueueTest, NetworksTakeTurnsHoweverManyAddressesTheyHave) {
  for (const char* address : {"a", "b", "c", "d"}) {
    Add({{.address = address, .network = "net"}}, 1);
  }
  for (int i = 0; i < 3; ++i) {
    Add({{.address = "x", .network = "other"}}, 1);
  }
  EXPECT_EQ(ServeAddresses(7), "axbxcxd");
}

TEST_F(FairQueueTest, AddressesTakeTurnsHoweverMuchEachQueues) {
  for (int i = 0; i < 10; ++i) {
    Add(Path("a"), 1);
  }
  for (int i = 0; i < 3; ++i) {
    Add(Path("b"), 1);
  }
  EXPECT_EQ(ServeAddresses(8), "abababaa");
}

TEST_F(FairQueueTest, TurnsAreOfTimeAndNotOfJobs) {
  for (int i = 0; i < 4; ++i) {
    Add(Path("a"), 3);
  }
  for (int i = 0; i < 12; ++i) {
    Add(Path("b"), 1);
  }
  EXPECT_EQ(ServeAddresses(8), "abbbabbb");
}

TEST_F(FairQueueTest, ConnectionsShareWhatTheirAddressGets) {
  for (int i = 0; i < 12; ++i) {
    Add(Path("a", 1), 1);
    Add(Path("a", 2), 1);
    Add(Path("a", 3), 1);
    Add(Path("b", 4), 1);
  }
  std::map<std::uint64_t, int> served;
  for (int i = 0; i < 24; ++i) {
    ++served[Serve().client.connection];
  }
  EXPECT_THAT(served,
              ElementsAre(std::pair(1, 4), std::pair(2, 4), std::pair(3, 4), std::pair(4, 12)));
}

TEST_F(FairQueueTest, AFlowIsServedInOrder) {
  for (int i = 0; i < 20; ++i) {
    queue_.Add(Path("a"), {static_cast<std::uint64_t>(20 - i), 0}, {});
  }
  queue_.BeginPass(kCredit);
  for (std::uint64_t ticket = 1; ticket <= 20; ++ticket) {
    EXPECT_EQ(queue_.Next(), (FairQueue::Entry{ticket, 0}));
    queue_.ChargeNext(1);
    queue_.Remove(Path("a"), {ticket, 0});
  }
  EXPECT_EQ(queue_.Next(), std::nullopt);
}

TEST_F(FairQueueTest, AShortJobDoesNotWaitForALongOneOfItsConnection) {
  for (int i = 0; i < 5; ++i) {
    Add(Path("a", 1, /*size_class=*/3), 50);
  }
  Serve();
  Add(Path("a", 1, /*size_class=*/0), 1);
  EXPECT_EQ(Serve().size_class, 0);
}

TEST_F(FairQueueTest, ANewLongJobDoesNotDelayShortOnesOfItsConnection) {
  for (int i = 0; i < 100; ++i) {
    Add(Path("a", 1, /*size_class=*/0), 1);
  }
  for (int i = 0; i < 50; ++i) {
    Serve();
  }
  Add(Path("a", 1, /*size_class=*/2), 8);
  std::vector<std::int32_t> classes;
  for (int i = 0; i < 10; ++i) {
    classes.push_back(Serve().size_class);
  }
  EXPECT_LE(std::count(classes.begin(), classes.end(), 2), 1);
}

TEST_F(FairQueueTest, ANewcomerIsServedAtOnceForAsLongAsItsCreditLasts) {
  for (int i = 0; i < 100; ++i) {
    Add(Path("a"), 1);
  }
  for (int i = 0; i < 50; ++i) {
    Serve();
  }
  for (int i = 0; i < 10; ++i) {
    Add(Path("b"), 1);
  }
  const std::string addresses = ServeAddresses(14);
  EXPECT_EQ(addresses.substr(0, 4), "bbbb");
  EXPECT_LE(addresses.find('a'), 6U);
  EXPECT_LE(std::count(addresses.begin() + 6, addresses.end(), 'b'), 5);
}

TEST_F(FairQueueTest, TheCreditOfAnIdleClientDoesNotGrow) {
  Add(Path("b"), 1);
  Serve();
  for (int i = 0; i < 2000; ++i) {
    Add(Path("a"), 1);
  }
  for (int i = 0; i < 1000; ++i) {
    Serve();
  }
  for (int i = 0; i < 100; ++i) {
    Add(Path("b"), 1);
  }
  served_.clear();
  for (int i = 0; i < 100; ++i) {
    Serve();
  }
  EXPECT_LE(served_["b"] - served_["a"], kCredit + 2);
}

TEST_F(FairQueueTest, TwoClientsDifferByNoMoreThanTheBound) {
  std::mt19937 random(5);
  const auto pick = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  constexpr double kLargest = 3;
  for (int round = 0; round < 20; ++round) {
    FairQueue queue;
    std::map<ClientName, double> weighted;
    std::map<std::string, double> sizes = {{"a", 0.1}, {"b", 3}, {"c", 1}};
    std::map<FairQueue::Entry, std::pair<FairPath, double>> jobs;
    std::uint64_t tickets = 0;
    const auto add = [&](const std::string& address) {
      const FairPath path = Path(address, random() % 3, 0, static_cast<int>(random() % 3) - 1);
      const FairQueue::Entry entry{++tickets, 0};
      queue.Add(path, entry, {});
      jobs[entry] = {path, pick(0, sizes[address])};
    };
    // "a" and "b" always have jobs; "c" comes and goes.
    double most_ahead = 0;
    double least_ahead = 0;
    double most_spread = 0;
    for (int step = 0; step < 3000; ++step) {
      while (std::count_if(jobs.begin(), jobs.end(), [](const auto& job) {
               return job.second.first.client.address == "a";
             }) < 5) {
        add("a");
      }
      while (std::count_if(jobs.begin(), jobs.end(), [](const auto& job) {
               return job.second.first.client.address == "b";
             }) < 5) {
        add("b");
      }
      if (random() % 100 == 0) {
        for (int i = 0; i < 10; ++i) {
          add("c");
        }
      }
      queue.BeginPass(kCredit);
      const FairQueue::Entry next = queue.Next().value();
      const auto [path, seconds] = jobs.extract(next).mapped();
      queue.ChargeNext(seconds);
      queue.Remove(path, next);
      weighted[path.client.address] += seconds / WeightOf(path.priority);
      const double ahead = weighted["a"] - weighted["b"];
      most_ahead = std::max(most_ahead, ahead);
      least_ahead = std::min(least_ahead, ahead);
      most_spread = std::max(most_spread, most_ahead - least_ahead);
    }
    // Between any two moments.
    EXPECT_LE(most_spread, kCredit + 2 * kLargest * 1.25);
  }
}

TEST_F(FairQueueTest, PrioritiesWeighAndStarveNobody) {
  EXPECT_LT(WeightOf(kMinPriority) / WeightOf(kMaxPriority), 90);
  for (int i = 0; i < 2000; ++i) {
    Add(Path("urgent", 1, 0, kMinPriority), 1);
    Add(Path("patient", 2, 0, kMaxPriority), 1);
  }
  for (int i = 0; i < 900; ++i) {
    Serve();
  }
  EXPECT_GE(served_["patient"], 9);
  EXPECT_NEAR(served_["urgent"] / served_["patient"],
              WeightOf(kMinPriority) / WeightOf(kMaxPriority), 25);
}

TEST_F(FairQueueTest, PrioritiesOfOneConnectionShareByTheirWeights) {
  for (int i = 0; i < 500; ++i) {
    Add(Path("a", 1, 0, -3), 1);
    Add(Path("a", 1, 0, 0), 1);
  }
  std::map<std::int32_t, int> served;
  for (int i = 0; i < 300; ++i) {
    ++served[Serve().priority];
  }
  EXPECT_NEAR(static_cast<double>(served[-3]) / served[0], WeightOf(-3), 0.1);
}

TEST_F(FairQueueTest, ASkippedEntryIsFirstInTheNextPass) {
  for (int i = 0; i < 4; ++i) {
    Add(Path("a"), 1);
  }
  Add(Path("b"), 1);
  queue_.BeginPass(kCredit);
  const auto first = queue_.Next();
  queue_.Skip();
  const auto second = queue_.Next();
  EXPECT_EQ(second->ticket, first->ticket + 1) << "it was not charged, so it is its turn";
  queue_.ChargeNext(1);
  queue_.Remove(Path("a"), *second);
  EXPECT_EQ(queue_.Next()->ticket, 5U);
  queue_.Skip();
  for (std::uint64_t ticket : {3, 4}) {
    EXPECT_EQ(queue_.Next()->ticket, ticket);
    queue_.Skip();
  }
  EXPECT_EQ(queue_.Next(), std::nullopt);
  queue_.BeginPass(kCredit);
  EXPECT_EQ(queue_.Next()->ticket, 5U) << "the one of the client that was not served";
  queue_.Skip();
  EXPECT_EQ(queue_.Next(), first);
}

/// One that cannot be served for a long time saves up no more than the credit either.
TEST_F(FairQueueTest, AClientThatIsSkippedDoesNotHoldUpOthersLater) {
  for (int i = 0; i < 100; ++i) {
    Add(Path("blocked"), 1);
    Add(Path("a"), 1);
  }
  for (int i = 0; i < 60; ++i) {
    queue_.BeginPass(kCredit);
    auto next = queue_.Next();
    while (jobs_.at(*next).first.client.address == "blocked") {
      queue_.Skip();
      next = queue_.Next();
    }
    queue_.ChargeNext(1);
    queue_.Remove(Path("a"), *next);
    jobs_.erase(*next);
  }
  Add(Path("polite"), 1);
  const std::string addresses = ServeAddresses(3);
  EXPECT_THAT(addresses, ::testing::HasSubstr("polite"));
}

TEST_F(FairQueueTest, NobodyWaitsForeverWhileNewClientsCome) {
  std::mt19937 random(3);
  Add(Path("patient"), 1);
  Add(Path("patient"), 1);
  int waited = 0;
  for (; jobs_.contains({2, 0}); ++waited) {
    ASSERT_LT(waited, 200);
    Add(Path("client " + std::to_string(random() % 20)), 1);
    Add(Path("client " + std::to_string(random() % 20)), 1);
    Serve();
  }
  // At most the credit of each of 20 others, and what they then share.
  EXPECT_LE(waited, 20 * (kCredit + 2));
}

TEST_F(FairQueueTest, NobodyWaitsForeverWhileEachRequestHasAClientOfItsOwn) {
  // Each has the credit of a client that was never served.
  constexpr int kOthers = 16;
  int clients = 0;
  const auto add_other = [&](bool is_connection) {
    ++clients;
    Add(is_connection ? Path("a", static_cast<std::uint64_t>(clients))
                      : Path("client " + std::to_string(clients)),
        0.1);
  };
  for (const bool is_connection : {false, true}) {
    const FairPath kept = Path(is_connection ? "a" : "kept");
    for (int i = 0; i < kOthers; ++i) {
      add_other(is_connection);
    }
    for (int request = 0; request < 5; ++request) {
      Add(kept, 1);
      const FairQueue::Entry entry{tickets_, 0};
      double waited = 0;
      while (jobs_.contains(entry)) {
        // As long as each of the others needs to use its credit and as much as is served here.
        ASSERT_LT(waited, (kOthers + 1) * (kCredit + 1.1));
        const bool is_kept = Serve() == kept;
        waited += is_kept ? 0 : 0.1;
        if (!is_kept) {
          add_other(is_connection);
        }
      }
    }
    while (!queue_.empty()) {
      Serve();
    }
  }
}

TEST_F(FairQueueTest, TimePassesWhileAllTurnsAreOver) {
  // Only completions of "a" are served, beside an entry that cannot be, for want of pages.
  Add(Path("waiting"), 1);
  for (int pass = 0; pass < 100; ++pass) {
    queue_.BeginPass(kCredit);
    ASSERT_TRUE(queue_.Next().has_value());
    queue_.Skip();
    EXPECT_FALSE(queue_.Next().has_value());
    queue_.Charge(Path("a"), 1);
  }
  // A newcomer is not ahead of "a" by all that these took.
  const double ahead = queue_.TagsOf(Path("a")).address - queue_.TagsOf(Path("newcomer")).address;
  EXPECT_LE(ahead, kCredit + 3);
}

TEST_F(FairQueueTest, IdleClientsAreForgotten) {
  Add(Path("hog"), 0);
  for (int i = 0; i < 5000; ++i) {
    Add(Path("hog"), 1);
    Add(Path("client " + std::to_string(i), static_cast<std::uint64_t>(i)), 0.01);
    Serve();
    Serve();
  }
  EXPECT_LT(queue_.nodes(), 3 * 1100U);
  // One after the other, without any that waits.
  FairQueue queue;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const FairPath path = Path("a", i);
    queue.Add(path, {i, 0}, {});
    queue.BeginPass(kCredit);
    EXPECT_EQ(queue.Next()->ticket, i);
    queue.ChargeNext(0.01);
    queue.Remove(path, {i, 0});
  }
  EXPECT_LT(queue.nodes(), 3 * 1100U);
}

TEST_F(FairQueueTest, KnowsWhatWaits) {
  const PassRates rates = {.overhead = 1, .row = 2, .key = 3, .read = 5};
  queue_.Add(Path("a", 1), {1, 0}, {.rows = 10, .keys = 20, .reads = 1});
  queue_.Add(Path("a", 1), {1, 1}, {.rows = 1});
  queue_.Add(Path("a", 2, 1, -1), {2, 0}, {.reads = 2});
  EXPECT_EQ(queue_.left(), (PassWork{11, 20, 3}));
  auto backlogs = queue_.Backlogs(rates);
  ASSERT_EQ(backlogs.size(), 2U);
  EXPECT_EQ(backlogs[0].path, Path("a", 1));
  EXPECT_EQ(backlogs[0].seconds, 22 + 60 + 5);
  EXPECT_EQ(backlogs[0].weight, 1);
  EXPECT_EQ(backlogs[1].path, Path("a", 2, 1, -1));
  EXPECT_EQ(backlogs[1].seconds, 10);
  EXPECT_EQ(backlogs[1].weight, 1.25);
  queue_.SetLeft(Path("a", 1), {1, 0}, {.rows = 4});
  queue_.Remove(Path("a", 2, 1, -1), {2, 0});
  EXPECT_EQ(queue_.left(), (PassWork{5, 0, 0}));
  backlogs = queue_.Backlogs(rates);
  ASSERT_EQ(backlogs.size(), 1U);
  EXPECT_EQ(backlogs[0].seconds, 10);
  EXPECT_EQ(queue_.size(), 2U);
}

TEST_F(FairQueueTest, WorkOutOfTurnIsChargedToo) {
  for (int i = 0; i < 20; ++i) {
    Add(Path("a"), 1);
    Add(Path("b"), 1);
  }
  ServeAddresses(10);
  queue_.Charge(Path("a"), 5);
  EXPECT_EQ(ServeAddresses(5), "bbbbb");
  queue_.Charge(Path("b"), -5);
  EXPECT_THAT(ServeAddresses(5), ::testing::AnyOf("bbbbb", "abbbb"));
  EXPECT_GT(queue_.TagsOf(Path("a")).address, queue_.TagsOf(Path("new")).address);
}

TEST(ClientName, CopiesShareTheTextAndCompareByIt) {
  const ClientId client = {std::string(100, 'a'), 3};
  const FairPath path = {client, 0, 0};
  EXPECT_EQ(path.client.address.text().data(), client.address.text().data());
  EXPECT_EQ(client, (ClientId{std::string(100, 'a'), 3}));
  EXPECT_LT(ClientName("a"), ClientName("b"));
  EXPECT_EQ(ClientName(), ClientName(""));
}

}  // namespace fair_queue_test
}  // namespace scorecast::coordinator
