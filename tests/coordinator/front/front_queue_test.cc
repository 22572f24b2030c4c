#include "coordinator/front/front_queue.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace front_queue_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Tickets = std::vector<std::uint64_t>;

const Clock::time_point kStart = Clock::time_point() + std::chrono::hours(1);

class FrontQueueTest : public ::testing::Test {
 protected:
  FrontQueueTest() { queue_.SetUsable({"m"}, kStart); }

  WaitingRequest Request(const std::string& address, const std::string& network = "") {
    return {.ticket = ++last_,
            .client = {.address = address, .network = network.empty() ? address : network},
            .seconds = 1,
            .bytes = 100};
  }
  std::optional<proto::Error> Add(const WaitingRequest& request, const std::string& model = "m",
                                  Clock::duration after = {}) {
    return queue_.Add(model, request, replicas_, kStart + after);
  }
  std::optional<proto::Error> AddUntil(Clock::duration deadline) {
    WaitingRequest request = Request("a");
    request.deadline = kStart + deadline;
    return Add(request);
  }
  /// The address of the next request, which leaves; empty if there is none.
  std::string Take(const std::string& model = "m") {
    const auto next = queue_.Next(model);
    if (!next) {
      return "";
    }
    queue_.Take(model);
    taken_.push_back(next->ticket);
    return std::string(next->client.address.text());
  }
  /// The addresses of the next ones.
  std::string TakeSome(int count) {
    std::string addresses;
    for (int i = 0; i < count; ++i) {
      addresses += Take();
    }
    return addresses;
  }
  Tickets Expired(Clock::duration after) {
    Tickets tickets;
    reasons_.clear();
    for (const FrontQueue::Refused& refused : queue_.Expire(kStart + after)) {
      tickets.push_back(refused.ticket);
      reasons_.push_back(refused.error.reason);
    }
    return tickets;
  }

  UsableReplicas replicas_ = {.count = 2, .wait_seconds = 0};
  FrontQueue queue_{{.max_wait_seconds = 10, .patience = seconds(3), .max_bytes = 100'000}};
  std::uint64_t last_ = 0;
  Tickets taken_;
  std::vector<std::string> reasons_;
};

TEST_F(FrontQueueTest, ServesAClientInTheOrderOfArrival) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(Add(Request("a")));
  }
  EXPECT_EQ(queue_.Next("m")->ticket, 1U);
  EXPECT_EQ(queue_.Next("m")->ticket, 1U);
  EXPECT_EQ(TakeSome(6), "aaaaa");
  EXPECT_THAT(taken_, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_THAT(queue_.models(), IsEmpty());
}

TEST_F(FrontQueueTest, ServesAPoliteClientBesideAHog) {
  for (int i = 0; i < 18; ++i) {
    EXPECT_FALSE(Add(Request("h")));
  }
  EXPECT_EQ(TakeSome(4), "hhhh");
  EXPECT_FALSE(Add(Request("p")));
  EXPECT_FALSE(Add(Request("p")));
  EXPECT_FALSE(Add(Request("p")));
  const std::string order = TakeSome(6);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'p'), 3) << order;
  EXPECT_EQ(order[0], 'p');
}

TEST_F(FrontQueueTest, SharesByNetworkThenByAddress) {
  for (int i = 0; i < 4; ++i) {
    Add(Request("a", "n"));
    Add(Request("b", "n"));
    Add(Request("c", "n"));
    Add(Request("d", "other"));
  }
  const std::string order = TakeSome(6);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'd'), 3) << order;
  for (const char address : {'a', 'b', 'c'}) {
    EXPECT_EQ(std::count(order.begin(), order.end(), address), 1) << order;
  }
}

TEST_F(FrontQueueTest, OnlyWhatItIsChargedCounts) {
  WaitingRequest longer = Request("h");
  longer.seconds = 4;
  replicas_.count = 100;
  Add(longer);
  Add(Request("h"));
  for (int i = 0; i < 6; ++i) {
    Add(Request("p"));
  }
  EXPECT_EQ(TakeSome(5), "hpppp") << "four seconds of one are four requests of the other";
}

TEST_F(FrontQueueTest, AWorsePriorityHasASmallerShare) {
  for (int i = 0; i < 10; ++i) {
    WaitingRequest request = Request("a");
    request.priority = 5;
    EXPECT_FALSE(Add(request));
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(Add(Request("b")));
  }
  const std::string order = TakeSome(8);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'a'), 2) << "1.25^5 is about 3: " << order;
}

TEST_F(FrontQueueTest, NamesOfModelsThatThereAreNotAreBounded) {
  replicas_ = {};
  for (int i = 0; i < 2'000; ++i) {
    Add(Request("a"), std::to_string(i));
  }
  EXPECT_LE(queue_.size(), 1'000U);
  EXPECT_FALSE(Add(Request("a"), "m"));
}

TEST_F(FrontQueueTest, WhatWasUsedIsChargedLater) {
  const WaitingRequest first = Request("h");
  replicas_.count = 100;
  Add(first);
  for (int i = 0; i < 3; ++i) {
    Add(Request("h"));
  }
  for (int i = 0; i < 8; ++i) {
    Add(Request("p"));
  }
  EXPECT_EQ(TakeSome(2), "hp");
  queue_.Charge("m", first, 4);
  EXPECT_EQ(TakeSome(4), "pppp") << "four seconds of one are four requests of the other";
  const std::string order = TakeSome(2);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'h'), 1) << order;
  queue_.Charge("none", first, 4);
}

TEST_F(FrontQueueTest, WhoComesBackIsFirst) {
  const WaitingRequest first = Request("a");
  const WaitingRequest second = Request("b");
  Add(first);
  Add(second);
  Add(Request("c"));
  Add(Request("d"));
  EXPECT_EQ(TakeSome(2), "ab");
  queue_.Return("m", second, kStart);
  queue_.Return("m", first, kStart);
  EXPECT_EQ(queue_.size(), 4U);
  EXPECT_EQ(TakeSome(5), "abcd");
}

TEST_F(FrontQueueTest, SuspectsAreServedFirstOrNotNow) {
  WaitingRequest suspect = Request("s");
  suspect.is_suspect = true;
  const WaitingRequest returned = Request("r");
  Add(Request("a"));
  queue_.Return("m", returned, kStart);
  queue_.Return("m", suspect, kStart);
  EXPECT_EQ(queue_.Next("m", /*with_suspects=*/false)->ticket, returned.ticket);
  queue_.Take("m");
  EXPECT_EQ(queue_.SizeOf("m"), 2U);
  EXPECT_EQ(TakeSome(3), "sa");
  EXPECT_EQ(queue_.SizeOf("m"), 0U);
}

TEST_F(FrontQueueTest, WhoLeavesIsNotServed) {
  Add(Request("a"));
  Add(Request("b"));
  Add(Request("c"));
  EXPECT_TRUE(queue_.Remove(2));
  EXPECT_FALSE(queue_.Remove(2));
  EXPECT_EQ(TakeSome(3), "ac");
  EXPECT_FALSE(queue_.Remove(1));
}

TEST_F(FrontQueueTest, ModelsHaveQueuesOfTheirOwn) {
  queue_.SetUsable({"m", "n"}, kStart);
  Add(Request("a"), "m");
  Add(Request("b"), "n");
  Add(Request("c"), "n");
  EXPECT_THAT(queue_.models(), ElementsAre("m", "n"));
  EXPECT_EQ(queue_.SecondsOf("n"), 2);
  EXPECT_EQ(Take("n"), "b");
  EXPECT_EQ(Take("n"), "c");
  EXPECT_EQ(Take("n"), "");
  EXPECT_EQ(queue_.SecondsOf("n"), 0);
  EXPECT_EQ(Take("m"), "a");
}

TEST_F(FrontQueueTest, RequestsMayMoveToAnotherModel) {
  const WaitingRequest returned = Request("r");
  Add(Request("a"), "alias");
  Add(Request("a"), "alias");
  Add(Request("b"));
  queue_.Return("alias", returned, kStart);
  queue_.Move("alias", "m", kStart);
  EXPECT_THAT(queue_.models(), ElementsAre("m"));
  EXPECT_EQ(Take(), "r") << "it has come back";
  const std::string order = TakeSome(3);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'a'), 2) << order;
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(FrontQueueTest, WhatWouldWaitTooLongIsRefused) {
  for (int i = 0; i < 21; ++i) {
    EXPECT_FALSE(Add(Request("a"))) << "20 s at two replicas take 10 s";
  }
  const auto refusal = Add(Request("a"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, 429);
  EXPECT_EQ(refusal->reason, "wait_too_long");
  EXPECT_EQ(refusal->retry_after_seconds, 1);
  EXPECT_FALSE(Add(Request("b"))) << "it waits for its share only";
  replicas_.wait_seconds = 14.5;
  const auto by_replica = Add(Request("c"));
  ASSERT_TRUE(by_replica) << "the best replica says so";
  EXPECT_EQ(by_replica->retry_after_seconds, 6) << "4.5 s, and 1 s for each of two others at two";
}

TEST_F(FrontQueueTest, WhatWouldMissItsDeadlineIsRefused) {
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(Add(Request("a")));
  }
  const auto refusal = AddUntil(milliseconds(2500));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, 429);
  EXPECT_EQ(refusal->reason, "deadline_too_close");
  EXPECT_EQ(refusal->retry_after_seconds, 3) << "it would end in 5 s";
  EXPECT_FALSE(AddUntil(milliseconds(5500)));
  EXPECT_FALSE(AddUntil(milliseconds(500))) << "no time is better than now";
  EXPECT_EQ(AddUntil(milliseconds(0))->reason, "deadline_passed");
}

TEST_F(FrontQueueTest, BytesAreBounded) {
  WaitingRequest large = Request("a");
  large.bytes = 1'000'000;
  EXPECT_FALSE(Add(large)) << "it is alone";
  const auto refusal = Add(Request("b"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, 429);
  EXPECT_EQ(refusal->reason, "queue_full");
  EXPECT_TRUE(refusal->retry_after_seconds);
  Take();
  EXPECT_FALSE(Add(Request("b")));
}

TEST_F(FrontQueueTest, DeadlinesPassInTheQueue) {
  EXPECT_EQ(queue_.next_expiry(), std::nullopt);
  AddUntil(seconds(3));
  AddUntil(seconds(2));
  Add(Request("a"));
  EXPECT_EQ(queue_.next_expiry(), kStart + seconds(2));
  EXPECT_THAT(Expired(milliseconds(1999)), IsEmpty());
  EXPECT_THAT(Expired(seconds(2)), ElementsAre(2));
  EXPECT_THAT(reasons_, ElementsAre("deadline_passed"));
  EXPECT_EQ(queue_.next_expiry(), kStart + seconds(3));
  EXPECT_EQ(TakeSome(3), "aa");
  EXPECT_EQ(queue_.next_expiry(), std::nullopt);
  EXPECT_THAT(Expired(seconds(9)), IsEmpty());
}

TEST_F(FrontQueueTest, AReplicaMayComeBackInTime) {
  Add(Request("a"));
  queue_.SetUsable({}, kStart + seconds(1));
  replicas_ = {};
  EXPECT_FALSE(Add(Request("b"), "m", seconds(2)));
  EXPECT_EQ(queue_.next_expiry(), kStart + seconds(4));
  EXPECT_THAT(Expired(milliseconds(3999)), IsEmpty());
  queue_.SetUsable({"m"}, kStart + milliseconds(3999));
  EXPECT_EQ(queue_.next_expiry(), std::nullopt);
  EXPECT_THAT(Expired(seconds(9)), IsEmpty());
  EXPECT_EQ(TakeSome(2), "ab");
}

TEST_F(FrontQueueTest, WithoutAReplicaRequestsAreRefused) {
  Add(Request("a"));
  const WaitingRequest returned = Request("b");
  queue_.SetUsable({}, kStart);
  queue_.Return("m", returned, kStart);
  queue_.SetUsable({}, kStart + seconds(2));
  EXPECT_THAT(Expired(seconds(3)), ElementsAre(1, 2));
  EXPECT_THAT(reasons_, Each("no_replica"));
  replicas_ = {};
  const auto refusal = Add(Request("a"), "m", seconds(4));
  ASSERT_TRUE(refusal) << "there has been none for longer than requests wait";
  EXPECT_EQ(refusal->code, 503);
  EXPECT_EQ(refusal->reason, "no_replica");
  EXPECT_TRUE(refusal->retry_after_seconds);
}

TEST_F(FrontQueueTest, RequestsOfAnUnknownModelWaitForAReplica) {
  replicas_ = {};
  EXPECT_FALSE(Add(Request("a"), "n", seconds(7)));
  EXPECT_EQ(queue_.next_expiry(), kStart + seconds(10));
  EXPECT_THAT(Expired(seconds(10)), ElementsAre(1));
  EXPECT_FALSE(Add(Request("a"), "n", seconds(11))) << "it waits, too";
}

}  // namespace front_queue_test
}  // namespace scorecast::coordinator
