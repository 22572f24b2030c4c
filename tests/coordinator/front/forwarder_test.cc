#include "coordinator/front/forwarder.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/captured_log.h"
#include "tests/coordinator/front/front_fixture.h"

namespace scorecast::coordinator {
namespace forwarder_test {

using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using ForwarderTest = FrontFixture;

std::string RandomText(unsigned seed) {
  std::mt19937 random(seed);
  std::string text(20'000, ' ');
  for (char& c : text) {
    c = static_cast<char>('a' + random() % 26);
  }
  return text;
}

TEST_F(ForwarderTest, ReplicasAreToldWhoseRequestItIs) {
  b_.Die();
  ASSERT_TRUE(StartWith(1));
  FrontRequest request = RequestOf("1", "alice");
  request.client.network = "n";
  request.key.emplace().set_priority(3);
  request.arrived = Clock::now() - std::chrono::seconds(5);
  request.deadline = Clock::now() + std::chrono::hours(2);
  Forward(std::move(request));
  EXPECT_EQ(EndOf("1"), "a:1");
  const v1::Forwarded& forwarded = a_.seen.at(0).forwarded();
  EXPECT_EQ(forwarded.client(), "alice");
  EXPECT_EQ(forwarded.network(), "n");
  EXPECT_EQ(forwarded.key().priority(), 3);
  EXPECT_GE(forwarded.waited_us(), 5'000'000);
  EXPECT_LE(forwarded.timeout_us(), 7'200'000'000);
  EXPECT_GT(forwarded.timeout_us(), 3'600'000'000);
  const v1::Response& response = replies_["1"].at(0).response;
  EXPECT_EQ(response.request_id(), 0U);
  EXPECT_FALSE(response.has_status());
}

TEST_F(ForwarderTest, PartsArePassedOnAsTheyCome) {
  a_.holds = true;
  b_.Die();
  ASSERT_TRUE(StartWith(1));
  Forward("1");
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1; }));
  a_.Send(PartOf(a_.held[0], "x"));
  ASSERT_TRUE(Run([this] { return replies_["1"].size() == 1; }));
  EXPECT_FALSE(replies_["1"][0].is_last);
  a_.Send(PartOf(a_.held[0], "y", /*is_last=*/true));
  EXPECT_EQ(EndOf("1"), "y");
  EXPECT_THAT(replies_["1"], SizeIs(2));
  EXPECT_EQ(forwarder_->in_flight(), 0U);
}

TEST_F(ForwarderTest, ErrorsOfAReplicaArePassedOn) {
  a_.holds = true;
  b_.Die();
  ASSERT_TRUE(StartWith(1));
  Forward("1");
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1; }));
  v1::Response refusal;
  refusal.set_request_id(a_.held[0].request_id());
  refusal.mutable_error()->set_code(429);
  refusal.mutable_error()->set_reason("rate_limit_exceeded");
  a_.Send(refusal);
  EXPECT_EQ(EndOf("1"), "rate_limit_exceeded");
}

TEST_F(ForwarderTest, AReplicaHasABoundedNumberOfRequests) {
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith());
  for (int i = 0; i < 10; ++i) {
    Forward(std::to_string(i));
  }
  ASSERT_TRUE(Run([this] { return Held() == 4; }));
  EXPECT_EQ(a_.held.size(), 2U);
  EXPECT_EQ(b_.held.size(), 2U);
  EXPECT_EQ(forwarder_->waiting(), 6U);
  // A reply that has begun makes room for another request.
  a_.Send(PartOf(a_.held[0], "x"));
  ASSERT_TRUE(Run([this] { return Held() == 5; }));
  EXPECT_EQ(a_.held.size(), 3U);
  while (ended_ < 10) {
    ASSERT_TRUE(Run([this] { return Held() > 0 || ended_ == 10; }));
    a_.AnswerAll();
    b_.AnswerAll();
  }
  EXPECT_EQ(a_.seen.size() + b_.seen.size(), 10U) << "each was sent once";
}

TEST_F(ForwarderTest, TheFirstRequestOfAClientNeedsLessRoom) {
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith());
  for (int i = 0; i < 10; ++i) {
    Forward(RequestOf("h" + std::to_string(i), "hog"));
  }
  ASSERT_TRUE(Run([this] { return Held() == 4; }));
  std::this_thread::sleep_for(milliseconds(100));
  a_.AnswerAll();  // The hog is charged, so that others are served before its next request.
  ASSERT_TRUE(Run([this] { return ended_ == 2 && Held() == 4; }));
  Forward(RequestOf("p1", "polite"));
  ASSERT_TRUE(Run([this] { return Held() == 5; }));
  Forward(RequestOf("q1", "quiet"));
  ASSERT_TRUE(Run([this] { return Held() == 6; })) << "one of each of them";
  Forward(RequestOf("p2", "polite"));
  Forward(RequestOf("r1", "rare"));
  EXPECT_EQ(a_.held.size(), 3U);
  EXPECT_EQ(b_.held.size(), 3U);
  a_.AnswerAll();
  ASSERT_TRUE(Run([this] { return ended_ == 5 && Held() >= 5; }));
  while (ended_ < 14) {
    ASSERT_TRUE(Run([this] { return Held() > 0 || ended_ == 14; }));
    EXPECT_LE(a_.held.size(), 3U) << "no more first requests than one";
    EXPECT_LE(b_.held.size(), 3U);
    a_.AnswerAll();
    b_.AnswerAll();
  }
  EXPECT_EQ(a_.seen.size() + b_.seen.size(), 14U) << "each was sent once";
}

TEST_F(ForwarderTest, RequestsGoWhereTheirTextIsCached) {
  options_.outstanding = {.seconds = 100, .requests = 2};
  ASSERT_TRUE(StartWith());
  const std::string first = RandomText(1);
  const std::string second = RandomText(2);
  Forward("1" + first);
  EXPECT_EQ(EndOf("1" + first), "a:1" + first);
  a_.status.set_predicted_seconds(1e-6);
  Forward("2" + second);
  EXPECT_EQ(EndOf("2" + second), "a:2" + second) << "it did not know yet";
  Forward("3" + second);
  EXPECT_EQ(EndOf("3" + second), "a:3" + second) << "the text is there";
  Forward("4");
  EXPECT_EQ(EndOf("4"), "b:4") << "the wait is shorter there";
}

TEST_F(ForwarderTest, APoliteClientIsServedBesideAHogAtTwoReplicas) {
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith());
  for (int i = 0; i < 40; ++i) {
    Forward(RequestOf("h" + std::to_string(i), "hog"));
  }
  ASSERT_TRUE(Run([this] { return Held() == 4; }));
  // Clients are charged for real time. The hog has used so much of it that a pause of this process
  // while a request of the polite client is computed changes nothing.
  std::this_thread::sleep_for(milliseconds(500));
  for (int i = 0; i < 6; ++i) {
    Forward(RequestOf("p" + std::to_string(i), "polite"));
  }
  while (ended_ < 46) {
    ASSERT_TRUE(Run([this] { return Held() > 0; }));
    FakeReplica& turn = ended_ % 2 == 0 ? a_ : b_;
    FakeReplica& one = !turn.held.empty() ? turn : a_.held.empty() ? b_ : a_;
    const v1::Request request = one.held.front();
    one.held.erase(one.held.begin());
    one.Answer(request);
    const int before = ended_;
    const std::size_t left = 45 - static_cast<std::size_t>(ended_);
    ASSERT_TRUE(Run([&] { return ended_ > before && Held() >= std::min<std::size_t>(4, left); }));
  }
  // Four requests of the hog were at the replicas. The polite client has used less than the hog
  // until all of its requests are served. (Shares among clients that have used as much as each
  // other are in front_queue_test.cc.)
  const std::string begun = order_.substr(4, 12);
  EXPECT_EQ(std::count(begun.begin(), begun.end(), 'p'), 6) << order_;
}

TEST_F(ForwarderTest, NothingIsLostWithAReplicaThatDies) {
  options_.outstanding = {.seconds = 1e9, .requests = 2};
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith());
  for (int i = 0; i < 100; ++i) {
    Forward(std::to_string(i));
  }
  ASSERT_TRUE(Run([this] { return Held() == 100; }));
  EXPECT_GE(a_.held.size(), 30U);
  EXPECT_GE(b_.held.size(), 30U);
  const std::size_t lost = a_.held.size();
  a_.Die();
  ASSERT_TRUE(Run([this] { return b_.held.size() == 100; }));
  b_.AnswerAll();
  ASSERT_TRUE(Run([this] { return ended_ == 100; }));
  for (int i = 0; i < 100; ++i) {
    const std::string body = std::to_string(i);
    EXPECT_THAT(replies_[body], SizeIs(1));
    EXPECT_EQ(EndOf(body), "b:" + body);
  }
  EXPECT_EQ(b_.seen.size(), 100U);
  EXPECT_EQ(a_.seen.size(), lost);
  // It comes back, and is used again.
  a_.holds = false;
  a_.Revive();
  ASSERT_TRUE(Run([this] { return Usable() == 2; }));
  b_.Die();
  Forward("again");
  EXPECT_EQ(EndOf("again"), "a:again");
}

TEST_F(ForwarderTest, NothingIsLostWhileReplicasComeAndGo) {
  options_.outstanding = {.seconds = 1e9, .requests = 2};
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith());
  for (int round = 0; round < 50; ++round) {
    FakeReplica& dies = round % 2 == 0 ? a_ : b_;
    FakeReplica& stays = round % 2 == 0 ? b_ : a_;
    for (int i = 0; i < 10; ++i) {
      Forward(std::to_string(round) + "." + std::to_string(i));
    }
    // Some requests are on their way then.
    ASSERT_TRUE(Run([&] { return Held() >= static_cast<std::size_t>(round % 11); }));
    dies.Die();
    ASSERT_TRUE(Run([&] { return stays.held.size() == 10; }));
    stays.AnswerAll();
    ASSERT_TRUE(Run([&] { return ended_ == 10 * (round + 1); }));
    dies.Revive();
    ASSERT_TRUE(Run([this] { return Usable() == 2; }));
  }
  for (const auto& [body, replies] : replies_) {
    ASSERT_THAT(replies, SizeIs(1));
    EXPECT_THAT(EndOf(body), AnyOf("a:" + body, "b:" + body));
  }
}

// A rank is stuck, for example: the service is there, and says that it is not ready.
TEST_F(ForwarderTest, AReplicaThatIsStuckGivesItsRequestsUp) {
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith());
  for (int i = 0; i < 4; ++i) {
    Forward(std::to_string(i));
  }
  ASSERT_TRUE(Run([this] { return Held() == 4; }));
  ASSERT_EQ(a_.held.size(), 2U);
  // A reply that has begun stays where it is.
  v1::Response part = PartOf(a_.held[0], "begun");
  a_.Send(part);
  const std::string begun = a_.held[0].http().body();
  const v1::Request taken_back = a_.held[1];
  ASSERT_TRUE(Run([&] { return replies_[begun].size() == 1; }));
  a_.status.set_ready(false);
  a_.SayStatus();
  ASSERT_TRUE(Run([this] { return !a_.cancelled.empty(); }));
  EXPECT_THAT(a_.cancelled, ElementsAre(taken_back.request_id()));
  b_.AnswerAll();
  ASSERT_TRUE(Run([this] { return b_.held.size() == 1; }));
  EXPECT_EQ(b_.held[0].http().body(), taken_back.http().body());
  b_.AnswerAll();
  ASSERT_TRUE(Run([this] { return ended_ == 3; }));
  a_.Send(PartOf(a_.held[0], "end", /*is_last=*/true));
  EXPECT_EQ(EndOf(begun), "end");
}

TEST_F(ForwarderTest, TheOnlyReplicaKeepsItsRequestsWhileItIsStuck) {
  a_.holds = true;
  b_.Die();
  ASSERT_TRUE(StartWith(1));
  Forward("1");
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1; }));
  a_.status.set_ready(false);
  a_.SayStatus();
  ASSERT_TRUE(Run([this] { return Usable() == 0; }));
  a_.AnswerAll();
  EXPECT_EQ(EndOf("1"), "a:1");
  EXPECT_THAT(a_.cancelled, IsEmpty());
}

// Nobody is sent what no service says, and the replica that says it is not asked for a while.
TEST_F(ForwarderTest, ABadReplyIsNotPassedOn) {
  using Change = std::function<void(v1::Response&)>;
  const auto with_field = [](const std::string& name, const std::string& value) {
    return [=](v1::Response& response) {
      v1::HttpField& field = *response.mutable_http()->add_fields();
      field.set_name(name);
      field.set_value(value);
    };
  };
  const auto with_status = [](std::uint32_t status) {
    return [=](v1::Response& response) { response.mutable_http()->set_status(status); };
  };
  const auto with_error = [](std::int32_t code, const std::string& reason) {
    return [=](v1::Response& response) {
      response.mutable_error()->set_code(code);
      response.mutable_error()->set_reason(reason);
    };
  };
  const std::vector<Change> bad = {with_field("X-A", "1\r\nX-B: 2"),
                                   with_field("X-A", "1\n"),
                                   with_field("X A", "1"),
                                   with_field("", "1"),
                                   with_field("Content-Length", "7"),
                                   with_field("transfer-encoding", "chunked"),
                                   with_status(0),
                                   with_status(101),
                                   with_status(204),
                                   with_status(302),
                                   with_status(70000),
                                   with_error(0, "a"),
                                   with_error(200, "a"),
                                   with_error(70000, "a"),
                                   with_error(-1, "a"),
                                   with_error(500, ""),
                                   with_error(500, "a\r\nb"),
                                   [](v1::Response& response) { response.clear_result(); },
                                   [](v1::Response& response) { response.mutable_score(); },
                                   [](v1::Response& response) { response.mutable_cancelled(); }};
  ASSERT_TRUE(StartWith());
  a_.holds = true;
  b_.holds = true;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    SCOPED_TRACE(i);
    const std::string body = std::to_string(i);
    Forward(body);
    ASSERT_TRUE(Run([this] { return Held() == 1; }));
    FakeReplica& wrong = a_.held.empty() ? b_ : a_;
    FakeReplica& other = &wrong == &a_ ? b_ : a_;
    const std::uint64_t before = replicas_.BadRepliesOf(wrong.name);
    v1::Response response = PartOf(wrong.held[0], "nonsense", /*is_last=*/true);
    bad[i](response);
    wrong.held.clear();
    wrong.Send(response);
    ASSERT_TRUE(Run([&] { return other.held.size() == 1; }));
    EXPECT_EQ(replicas_.BadRepliesOf(wrong.name), before + 1);
    EXPECT_EQ(Usable(), 1U) << "it is set aside";
    other.AnswerAll();
    EXPECT_EQ(EndOf(body), other.name + ":" + body);
    EXPECT_THAT(replies_[body], SizeIs(1));
    ASSERT_TRUE(Run([this] { return Usable() == 2; })) << "but not for ever";
  }
}

TEST_F(ForwarderTest, ABadReplyOfEveryReplicaIsAnError) {
  const auto nonsense = [](const v1::Request&) {
    v1::HttpReply reply;
    reply.set_status(70000);
    reply.set_last(true);
    return reply;
  };
  a_.reply = nonsense;
  b_.reply = nonsense;
  ASSERT_TRUE(StartWith());
  Forward("1");
  EXPECT_EQ(EndOf("1"), "bad_reply");
  EXPECT_EQ(replies_["1"].at(0).response.error().code(), 502);
  EXPECT_EQ(a_.seen.size() + b_.seen.size(), 3U);
  // After a good reply it is trusted again.
  a_.reply = nullptr;
  b_.reply = nullptr;
  Forward("2");
  EXPECT_THAT(EndOf("2"), AnyOf("a:2", "b:2"));
}

TEST_F(ForwarderTest, RequestsWaitForAReplicaIfAllHaveDied) {
  a_.holds = true;
  b_.Die();
  ASSERT_TRUE(StartWith(1));
  Forward("1");
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1; }));
  a_.Die();
  ASSERT_TRUE(Run([this] { return forwarder_->waiting() == 1; }));
  Forward("2");
  b_.Revive();
  EXPECT_EQ(EndOf("1"), "b:1");
  EXPECT_EQ(EndOf("2"), "b:2");
}

TEST_F(ForwarderTest, WithoutReplicasRequestsAreRefused) {
  options_.queue.patience = milliseconds(50);
  a_.Die();
  b_.Die();
  Start();
  Forward("1");
  EXPECT_EQ(EndOf("1"), "no_replica");
  const v1::Error& error = replies_["1"].at(0).response.error();
  EXPECT_EQ(error.code(), 503);
  EXPECT_TRUE(error.has_retry_after_seconds());
}

TEST_F(ForwarderTest, AReplicaThatDrainsGetsNoRequests) {
  a_.is_draining = true;
  ASSERT_TRUE(StartWith());
  for (int i = 0; i < 6; ++i) {
    Forward(std::to_string(i));
    EXPECT_EQ(EndOf(std::to_string(i)), "b:" + std::to_string(i));
  }
  EXPECT_GE(a_.seen.size(), 1U);
}

TEST_F(ForwarderTest, AnHttpReplyMayRefuseBecauseItDrains) {
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith());
  Forward("1");
  ASSERT_TRUE(Run([this] { return Held() == 1; }));
  FakeReplica& drains = a_.held.empty() ? b_ : a_;
  FakeReplica& other = &drains == &a_ ? b_ : a_;
  drains.status.set_draining(true);
  v1::Response refusal = PartOf(drains.held[0], "draining", /*is_last=*/true);
  refusal.mutable_http()->set_status(503);
  drains.Send(refusal);
  ASSERT_TRUE(Run([&] { return other.held.size() == 1; }));
  other.AnswerAll();
  EXPECT_THAT(EndOf("1"), HasSubstr(":1"));
}

TEST_F(ForwarderTest, AReplicaThatHasRefusedToServeIsNotAskedAgain) {
  a_.is_draining = true;
  b_.is_draining = true;
  ASSERT_TRUE(StartWith());
  Forward("1");
  ASSERT_TRUE(Run([this] { return a_.seen.size() + b_.seen.size() == 2; }));
  for (int i = 0; i < 10; ++i) {
    a_.SayStatus();  // It says that it can be used, and would refuse.
    b_.SayStatus();
    io_.run_for(milliseconds(1));
  }
  ASSERT_TRUE(Run([this] { return forwarder_->waiting() == 1; }));
  EXPECT_EQ(a_.seen.size() + b_.seen.size(), 2U);
  a_.is_draining = false;
  a_.Die();
  a_.Revive();
  EXPECT_EQ(EndOf("1"), "a:1") << "it is another one";
}

TEST_F(ForwarderTest, ARequestThatEndsItsReplicasEndsNoOthers) {
  options_.outstanding = {.seconds = 1e9, .requests = 2};
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith());
  Forward("poison");
  for (int i = 0; i < 20; ++i) {
    Forward(std::to_string(i));
  }
  ASSERT_TRUE(Run([this] { return Held() == 21; }));
  const auto has_poison = [](const FakeReplica& replica) {
    return std::ranges::any_of(
        replica.held, [](const v1::Request& request) { return request.http().body() == "poison"; });
  };
  int deaths = 0;
  while (ended_ < 21) {
    ASSERT_TRUE(Run([this] { return Held() > 0 || ended_ == 21; }));
    io_.run_for(milliseconds(1));  // What is held may change only by what is under way.
    for (FakeReplica* const replica : {&a_, &b_}) {
      if (has_poison(*replica)) {
        replica->Die();
        replica->Revive();
        ASSERT_TRUE(Run([this] { return Usable() == 2; }));
        ++deaths;
      } else if (deaths > 1 && !replica->held.empty()) {
        const v1::Request request = replica->held.front();
        replica->held.erase(replica->held.begin());
        replica->Answer(request);
      }
    }
  }
  EXPECT_EQ(deaths, 3);
  EXPECT_EQ(EndOf("poison"), "replica_lost");
  EXPECT_EQ(replies_["poison"].at(0).response.error().code(), 503);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(EndOf(std::to_string(i)), HasSubstr(":" + std::to_string(i)));
  }
}

TEST_F(ForwarderTest, WhatAReplicaIsTooFullForGoesToAnotherOne) {
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith());
  Forward("1");
  ASSERT_TRUE(Run([this] { return Held() == 1; }));
  FakeReplica& full = a_.held.empty() ? b_ : a_;
  FakeReplica& other = &full == &a_ ? b_ : a_;
  v1::Response refusal = PartOf(full.held[0], "queue_full", /*is_last=*/true);
  refusal.mutable_http()->set_status(429);
  full.held.clear();
  full.Send(refusal);
  ASSERT_TRUE(Run([&] { return other.held.size() == 1; }));
  // The other one is full, too.
  v1::Response error;
  error.set_request_id(other.held[0].request_id());
  error.mutable_error()->set_code(503);
  error.mutable_error()->set_reason("overloaded");
  other.Send(error);
  EXPECT_EQ(EndOf("1"), "overloaded");
  EXPECT_EQ(a_.seen.size() + b_.seen.size(), 2U);
}

TEST_F(ForwarderTest, CompletionsThatRunAreSpread) {
  options_.outstanding = {.seconds = 100, .requests = 2};
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith());
  for (int i = 0; i < 20; ++i) {
    Forward(std::to_string(i));
    ASSERT_TRUE(Run([&] { return Held() == static_cast<std::size_t>(i) + 1; }));
    for (FakeReplica* const replica : {&a_, &b_}) {
      if (!replica->held.empty()) {
        replica->Send(PartOf(replica->held.back(), "x"));
      }
    }
    ASSERT_TRUE(Run([&] { return !replies_[std::to_string(i)].empty(); }));
  }
  EXPECT_EQ(a_.held.size(), 10U);
  EXPECT_EQ(b_.held.size(), 10U);
}

TEST_F(ForwarderTest, AReplyThatHasBegunAndHasNoPositionsEndsWithAnError) {
  a_.holds = true;
  ASSERT_TRUE(StartWith());
  Forward("1");
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1; })) << "the first one if both are idle";
  a_.Send(PartOf(a_.held[0], "x"));
  ASSERT_TRUE(Run([this] { return replies_["1"].size() == 1; }));
  a_.Die();
  EXPECT_EQ(EndOf("1"), "replica_lost");
  EXPECT_THAT(b_.seen, IsEmpty());
}

TEST_F(ForwarderTest, ACancelReachesTheReplica) {
  a_.holds = true;
  b_.holds = true;
  options_.outstanding.requests = 1;
  ASSERT_TRUE(StartWith());
  const std::uint64_t sent = Forward("1");
  ASSERT_TRUE(Run([this] { return Held() == 1; }));
  Forward("2");
  ASSERT_TRUE(Run([this] { return Held() == 2; }));
  const std::uint64_t waiting = Forward("3");
  Forward("4");
  ASSERT_TRUE(Run([this] { return forwarder_->waiting() == 2; }));
  forwarder_->Cancel(waiting);
  EXPECT_EQ(forwarder_->waiting(), 1U);
  forwarder_->Cancel(sent);
  forwarder_->Cancel(sent);
  ASSERT_TRUE(Run([this] { return a_.cancelled.size() + b_.cancelled.size() == 1; }));
  ASSERT_TRUE(Run([this] { return Held() == 2; })) << "the fourth has its place";
  a_.AnswerAll();
  b_.AnswerAll();
  ASSERT_TRUE(Run([this] { return ended_ == 2; }));
  EXPECT_TRUE(HasEnded("2"));
  EXPECT_TRUE(HasEnded("4"));
  EXPECT_EQ(forwarder_->in_flight(), 0U);
}

TEST_F(ForwarderTest, DeadlinesPassInTheQueue) {
  a_.holds = true;
  b_.Die();
  options_.outstanding.requests = 1;
  ASSERT_TRUE(StartWith(1));
  Forward("1");
  ASSERT_TRUE(Run([this] { return Held() == 1; }));
  FrontRequest request = RequestOf("2");
  request.deadline = Clock::now() + milliseconds(20);
  Forward(std::move(request));
  EXPECT_EQ(EndOf("2"), "deadline_passed");
  EXPECT_EQ(replies_["2"].at(0).response.error().code(), 504);
  EXPECT_FALSE(HasEnded("1"));
}

TEST_F(ForwarderTest, RefusesWhatWouldWaitTooLong) {
  options_.queue.max_wait_seconds = 5;
  a_.status.set_predicted_seconds(20);
  b_.status.set_predicted_seconds(8);
  ASSERT_TRUE(StartWith());
  Forward("1");
  EXPECT_EQ(EndOf("1"), "wait_too_long");
  const v1::Error& error = replies_["1"].at(0).response.error();
  EXPECT_EQ(error.code(), 429);
  EXPECT_EQ(error.retry_after_seconds(), 3) << "the best replica's prediction";
}

TEST_F(ForwarderTest, RequestsGoToTheirModel) {
  b_.hello = FactsOf("other");
  ASSERT_TRUE(StartWith());
  const auto forward = [this](const std::string& body, const std::string& model) {
    FrontRequest request = RequestOf(body);
    request.model = model;
    Forward(std::move(request));
  };
  forward("1", "other");
  forward("2", "m");
  forward("3", "");
  forward("4", "none");
  EXPECT_EQ(EndOf("1"), "b:1");
  EXPECT_EQ(EndOf("2"), "a:2");
  EXPECT_EQ(EndOf("3"), "a:3");
  EXPECT_EQ(EndOf("4"), "model_not_found");
}

TEST_F(ForwarderTest, RequestsThatCameBeforeTheReplicasFindTheirModel) {
  Start();
  FrontRequest named = RequestOf("1");
  named.model = "m";
  Forward(std::move(named));
  Forward("2");
  FrontRequest other = RequestOf("3");
  other.model = "another name";
  Forward(std::move(other));
  for (const std::string body : {"1", "2", "3"}) {
    EXPECT_THAT(EndOf(body), AnyOf("a:" + body, "b:" + body));
  }
}

TEST_F(ForwarderTest, AKeyIsJudgedByTheModelWhenThatIsKnown) {
  Start();
  std::vector<std::string> judged;
  for (const std::string body : {"1", "2"}) {
    FrontRequest request = RequestOf(body);
    request.model = "another name";
    request.judge = [&judged, body](const std::string& model) {
      judged.push_back(model);
      return body == "1" ? std::optional(proto::Error{403, "model_not_allowed", "", ""})
                         : std::nullopt;
    };
    Forward(std::move(request));
  }
  EXPECT_EQ(EndOf("1"), "model_not_allowed");
  EXPECT_THAT(EndOf("2"), HasSubstr(":2"));
  EXPECT_THAT(judged, ElementsAre("m", "m"));
}

TEST_F(ForwarderTest, NamesOfModelsAreShort) {
  Start();
  FrontRequest request = RequestOf("1");
  request.model = std::string(10'000, 'x');
  Forward(std::move(request));
  EXPECT_EQ(EndOf("1"), "model_not_found");
}

TEST_F(ForwarderTest, AReplicasLimitOfBytesCounts) {
  a_.hello.set_max_request_bytes(2000);
  b_.Die();
  ASSERT_TRUE(StartWith(1));
  Forward(std::string(2001, 'x'));
  EXPECT_EQ(EndOf(std::string(2001, 'x')), "request_too_large");
  Forward(std::string(2000, 'x'));
  EXPECT_EQ(EndOf(std::string(2000, 'x')), "a:" + std::string(2000, 'x'));
  Forward("1");
  EXPECT_EQ(EndOf("1"), "a:1");
}

TEST_F(ForwarderTest, HandlersMayUseTheForwarder) {
  ASSERT_TRUE(StartWith());
  std::string second;
  forwarder_->Forward(RequestOf("1"), [&](const FrontReply&) {
    forwarder_->Forward(RequestOf("2"), [&](const FrontReply& reply) {
      second = reply.response.http().body();
      forwarder_->Close();
    });
  });
  ASSERT_TRUE(Run([&] { return !second.empty(); }));
  EXPECT_THAT(second, HasSubstr(":2"));
  EXPECT_EQ(forwarder_->in_flight(), 0U);
}

TEST_F(ForwarderTest, ReplicasAreToldWhatTheResponseHas) {
  b_.Die();
  ASSERT_TRUE(StartWith(1));
  FrontRequest request = RequestOf("1");
  request.defaults = ResponseDefaults{.seed = 5, .response_id = 6, .created = 7};
  request.arrived = std::nullopt;
  Forward(std::move(request));
  EXPECT_EQ(EndOf("1"), "a:1");
  const v1::Forwarded& forwarded = a_.seen.at(0).forwarded();
  EXPECT_EQ(forwarded.default_seed(), 5U);
  EXPECT_EQ(forwarded.response_id(), 6U);
  EXPECT_EQ(forwarded.created(), 7);
  EXPECT_EQ(forwarded.waited_us(), 0) << "its time begins at the replica";
}

TEST_F(ForwarderTest, ARefusalIsWaitedOutIfThereIsTime) {
  options_.refusal_pause = milliseconds(1);
  for (FakeReplica* const replica : {&a_, &b_}) {
    replica->reply = [this](const v1::Request& request) {
      v1::HttpReply reply;
      const bool refuses = a_.seen.size() + b_.seen.size() < 6;
      reply.set_status(refuses ? 429 : 200);
      reply.set_body(refuses ? "refused" : request.http().body());
      reply.set_last(true);
      return reply;
    };
  }
  ASSERT_TRUE(StartWith());
  Forward("1");
  EXPECT_TRUE(Run([this] {
    a_.SayStatus();
    b_.SayStatus();
    return HasEnded("1");
  }));
  EXPECT_EQ(EndOf("1"), "1");
  EXPECT_THAT(replies_["1"], SizeIs(1));
  EXPECT_EQ(a_.seen.size() + b_.seen.size(), 6U);
}

TEST_F(ForwarderTest, ARequestThatWaitsAfterARefusalCanBeCancelled) {
  options_.refusal_pause = std::chrono::hours(1);
  b_.Die();
  a_.reply = [](const v1::Request&) {
    v1::HttpReply reply;
    reply.set_status(503);
    reply.set_last(true);
    return reply;
  };
  ASSERT_TRUE(StartWith(1));
  const std::uint64_t id = Forward("1");
  ASSERT_TRUE(Run([this] {
    return a_.seen.size() == 1 && replicas_.listed().at("a")->connection->in_flight() == 0;
  }));
  EXPECT_EQ(forwarder_->in_flight(), 1U);
  forwarder_->Cancel(id);
  EXPECT_EQ(forwarder_->in_flight(), 0U);
  a_.reply = nullptr;
  a_.SayStatus();
  Forward("2");
  EXPECT_EQ(EndOf("2"), "a:2");
  EXPECT_THAT(replies_["1"], IsEmpty());
}

TEST_F(ForwarderTest, RequestsWithTimeWaitForReplicasAndTheLogSaysSo) {
  options_.queue.patience = std::nullopt;
  b_.Die();
  ASSERT_TRUE(StartWith(1));
  const CapturedLog log;
  a_.Die();
  Forward("1");
  ASSERT_TRUE(Run(
      [&] { return log.text().find("no replica of \"m\" can be used now") != std::string::npos; }));
  EXPECT_EQ(forwarder_->waiting(), 1U);
  a_.Revive();
  EXPECT_EQ(EndOf("1"), "a:1");
  EXPECT_THAT(log.text(), HasSubstr("a replica of \"m\" can be used again"));
}

}  // namespace forwarder_test
}  // namespace scorecast::coordinator
