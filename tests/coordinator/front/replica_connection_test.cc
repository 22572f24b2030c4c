#include "coordinator/front/replica_connection.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/frame.h"
#include "tests/coordinator/captured_log.h"
#include "tests/coordinator/front/fake_replica.h"

namespace scorecast::coordinator {
namespace replica_connection_test {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = ReplicaReply::Kind;

class ReplicaConnectionTest : public ::testing::Test {
 protected:
  ReplicaConnectionTest() {
    options_.front_key = "key";
    options_.first_pause = milliseconds(5);
    options_.longest_pause = milliseconds(20);
    options_.silence = std::chrono::hours(1);
  }
  ~ReplicaConnectionTest() override {
    if (connection_ != nullptr) {
      connection_->Close();
    }
    io_.restart();
    io_.run_for(milliseconds(1));
  }

  void Start() {
    connection_ = std::make_shared<ReplicaConnection>(
        io_.get_executor(), "r", replica_.address(), std::make_shared<ReplicaOptions>(options_),
        ReplicaConnection::Events{.ready = [this] { ++ready_; },
                                  .status = [this] { ++statuses_; },
                                  .lost = [this] { ++lost_; }});
    connection_->Start();
  }
  bool Run(const std::function<bool()>& holds) { return RunUntil(io_, holds); }
  bool RunUntilReady() {
    return Run([this] { return connection_->is_ready(); });
  }

  /// Sends a request, whose replies are in `replies_` under its body.
  std::uint64_t Send(const std::string& body) {
    v1::Forwarded forwarded;
    forwarded.set_client("client-of-" + body);
    return connection_->Send(HttpRequestOf(body), forwarded, [this, body](ReplicaReply reply) {
      replies_[body].push_back(std::move(reply));
    });
  }
  bool HasEnded(const std::string& body) {
    const auto& replies = replies_[body];
    return !replies.empty() && replies.back().kind != Kind::kPart;
  }

  boost::asio::io_context io_;
  FakeReplica replica_{io_};
  ReplicaOptions options_;
  std::shared_ptr<ReplicaConnection> connection_;
  std::map<std::string, std::vector<ReplicaReply>> replies_;
  int ready_ = 0;
  int statuses_ = 0;
  int lost_ = 0;
};

TEST_F(ReplicaConnectionTest, KeepsWhatTheReplicaSaysOfItself) {
  replica_.status.set_predicted_seconds(1.5);
  Start();
  EXPECT_FALSE(connection_->is_ready());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(ready_, 1);
  EXPECT_EQ(connection_->hello().fingerprint(), "0123");
  EXPECT_EQ(connection_->status().predicted_seconds(), 1.5);
  EXPECT_TRUE(connection_->is_usable());
  replica_.status.set_draining(true);
  replica_.SayStatus();
  EXPECT_TRUE(Run([this] { return !connection_->is_usable(); }));
  EXPECT_GE(statuses_, 1);
}

TEST_F(ReplicaConnectionTest, RepliesGoToTheirRequests) {
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  Send("a");
  Send("b");
  ASSERT_TRUE(Run([this] { return replica_.held.size() == 2; }));
  EXPECT_EQ(replica_.held[0].forwarded().client(), "client-of-a");
  EXPECT_EQ(replica_.held[0].http().path(), "/v1/score");
  EXPECT_NE(replica_.held[0].request_id(), replica_.held[1].request_id());
  replica_.Answer(replica_.held[1]);
  ASSERT_TRUE(Run([this] { return HasEnded("b"); }));
  EXPECT_TRUE(replies_["a"].empty());
  replica_.Answer(replica_.held[0]);
  ASSERT_TRUE(Run([this] { return HasEnded("a"); }));
  EXPECT_EQ(replies_["a"].at(0).response.http().body(), "r:a");
  EXPECT_EQ(replies_["b"].at(0).response.http().body(), "r:b");
  EXPECT_EQ(connection_->in_flight(), 0U);
}

TEST_F(ReplicaConnectionTest, ARepliesPartsComeBeforeItsEnd) {
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  Send("http");
  Send("delta");
  ASSERT_TRUE(Run([this] { return replica_.held.size() == 2; }));
  v1::Response part;
  part.set_request_id(replica_.held[0].request_id());
  part.mutable_http()->set_status(200);
  replica_.Send(part);
  replica_.Answer(replica_.held[0]);
  v1::Response delta;
  delta.set_request_id(replica_.held[1].request_id());
  delta.mutable_chunked_delta();
  replica_.Send(delta);
  delta.mutable_completions_delta();
  replica_.Send(delta);
  delta.mutable_chunked();
  replica_.Send(delta);
  ASSERT_TRUE(Run([this] { return HasEnded("http") && HasEnded("delta"); }));
  const auto kinds_of = [this](const std::string& body) {
    std::vector<Kind> kinds;
    for (const ReplicaReply& reply : replies_[body]) {
      kinds.push_back(reply.kind);
    }
    return kinds;
  };
  EXPECT_THAT(kinds_of("http"), ElementsAre(Kind::kPart, Kind::kLast));
  EXPECT_THAT(kinds_of("delta"), ElementsAre(Kind::kPart, Kind::kPart, Kind::kLast));
}

TEST_F(ReplicaConnectionTest, LongRequestsAndRepliesArrive) {
  Start();
  ASSERT_TRUE(RunUntilReady());
  const std::string body(3'000'000, 'x');
  v1::Forwarded forwarded;
  std::string got;
  connection_->Send(HttpRequestOf(body), forwarded,
                    [&](ReplicaReply reply) { got = reply.response.http().body(); });
  ASSERT_TRUE(Run([&] { return !got.empty(); }));
  EXPECT_TRUE(got == "r:" + body);
}

TEST_F(ReplicaConnectionTest, TellsTheReplicaWhatIsCancelled) {
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  const std::uint64_t id = Send("a");
  Send("b");
  ASSERT_TRUE(Run([this] { return replica_.held.size() == 2; }));
  const v1::Request cancelled = replica_.held[0];
  connection_->Cancel(id);
  connection_->Cancel(id);
  ASSERT_TRUE(Run([this] { return !replica_.cancelled.empty(); }));
  EXPECT_THAT(replica_.cancelled, ElementsAre(cancelled.request_id()));
  replica_.Answer(cancelled);
  replica_.AnswerAll();
  ASSERT_TRUE(Run([this] { return HasEnded("b"); }));
  EXPECT_THAT(replica_.cancelled, ElementsAre(cancelled.request_id()));
  EXPECT_TRUE(replies_["a"].empty());
}

TEST_F(ReplicaConnectionTest, AHandlerMayCancelItsRequest) {
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  int parts = 0;
  std::uint64_t id = 0;
  id = connection_->Send(HttpRequestOf("a"), {}, [&](const ReplicaReply&) {
    connection_->Cancel(id);
    ++parts;
  });
  ASSERT_TRUE(Run([this] { return replica_.held.size() == 1; }));
  v1::Response part;
  part.set_request_id(replica_.held[0].request_id());
  part.mutable_http();
  replica_.Send(part);
  replica_.Send(part);
  ASSERT_TRUE(Run([this] { return replica_.cancelled.size() == 1; }));
  EXPECT_EQ(parts, 1);
}

TEST_F(ReplicaConnectionTest, RequestsAreLostWithTheReplicaWhichIsUsedAgain) {
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  Send("a");
  Send("b");
  ASSERT_TRUE(Run([this] { return replica_.held.size() == 2; }));
  replica_.Die();
  ASSERT_TRUE(Run([this] { return HasEnded("a") && HasEnded("b"); }));
  EXPECT_EQ(replies_["a"].at(0).kind, Kind::kLost);
  EXPECT_EQ(replies_["b"].at(0).kind, Kind::kLost);
  EXPECT_EQ(lost_, 1);
  EXPECT_FALSE(connection_->is_ready());
  replica_.holds = false;
  replica_.Revive();
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(ready_, 2);
  Send("c");
  ASSERT_TRUE(Run([this] { return HasEnded("c"); }));
  EXPECT_EQ(replies_["c"].at(0).kind, Kind::kLast);
}

TEST_F(ReplicaConnectionTest, ASilentReplicaIsLost) {
  options_.silence = milliseconds(200);
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  Send("a");
  ASSERT_TRUE(Run([this] { return HasEnded("a"); })) << "it says nothing by itself";
  EXPECT_EQ(replies_["a"].at(0).kind, Kind::kLost);
  EXPECT_EQ(lost_, 1);
  EXPECT_TRUE(RunUntilReady()) << "it answers again";
}

TEST_F(ReplicaConnectionTest, AReplicaThatDoesNotSayWhatItIsIsTriedAgain) {
  options_.connect_timeout = milliseconds(100);
  options_.silence = milliseconds(200);
  replica_.is_silent = true;
  const CapturedLog log;
  Start();
  ASSERT_TRUE(Run([&] { return replica_.greeted >= 2; }));
  EXPECT_EQ(ready_, 0);
  EXPECT_THAT(log.text(), HasSubstr("it did not say in time what it is"));
  replica_.is_silent = false;
  EXPECT_TRUE(RunUntilReady());
}

TEST_F(ReplicaConnectionTest, AReplicaThatDoesNotTrustTheFrontIsRefusedOnceInTheLog) {
  replica_.front_key = "another";
  const CapturedLog log;
  Start();
  ASSERT_TRUE(Run([&] { return !log.text().empty(); }));
  const std::string first = log.text();
  EXPECT_THAT(first, HasSubstr("it does not trust this front: 401 unauthorized"));
  io_.restart();
  io_.run_for(milliseconds(200));
  EXPECT_EQ(log.text(), first);
  EXPECT_FALSE(connection_->is_ready());
  replica_.front_key = "key";
  EXPECT_TRUE(RunUntilReady());
}

TEST_F(ReplicaConnectionTest, IsLostIfItsKeyIsRevoked) {
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  Send("a");
  Send("b");
  ASSERT_TRUE(Run([this] { return replica_.held.size() == 2; }));
  v1::Response refusal;
  refusal.set_request_id(replica_.held[0].request_id());
  refusal.mutable_error()->set_code(401);
  replica_.Send(refusal);
  ASSERT_TRUE(Run([this] { return HasEnded("a") && HasEnded("b"); }));
  EXPECT_EQ(replies_["a"].at(0).kind, Kind::kLost);
  EXPECT_EQ(replies_["b"].at(0).kind, Kind::kLost);
}

TEST_F(ReplicaConnectionTest, ARefusedRequestConcernsNoOther) {
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  Send("a");
  Send("b");
  ASSERT_TRUE(Run([this] { return replica_.held.size() == 2; }));
  v1::Response refusal;
  refusal.set_request_id(replica_.held[0].request_id());
  refusal.mutable_error()->set_code(503);
  refusal.mutable_error()->set_reason("overloaded");
  replica_.Send(refusal);
  ASSERT_TRUE(Run([this] { return HasEnded("a"); }));
  EXPECT_EQ(replies_["a"].at(0).kind, Kind::kLast);
  EXPECT_EQ(replies_["a"].at(0).response.error().reason(), "overloaded");
  replica_.Answer(replica_.held[1]);
  ASSERT_TRUE(Run([this] { return HasEnded("b"); }));
  EXPECT_EQ(replies_["b"].at(0).kind, Kind::kLast);
  EXPECT_EQ(lost_, 0);
}

TEST_F(ReplicaConnectionTest, IsLostIfTheReplicaRefusesAFrame) {
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  Send("a");
  ASSERT_TRUE(Run([this] { return replica_.held.size() == 1; }));
  v1::Response refusal;  // It does not say which request that is.
  refusal.mutable_error()->set_code(503);
  refusal.mutable_error()->set_reason("overloaded");
  replica_.SendToAll(refusal);
  ASSERT_TRUE(Run([this] { return HasEnded("a"); }));
  EXPECT_EQ(replies_["a"].at(0).kind, Kind::kLost);
  EXPECT_TRUE(RunUntilReady());
}

TEST_F(ReplicaConnectionTest, AReplyThatIsTooLongIsNotRead) {
  options_.max_reply_bytes = 10'000;
  Start();
  ASSERT_TRUE(RunUntilReady());
  Send(std::string(5'000, 'a'));
  EXPECT_TRUE(Run([this] { return HasEnded(std::string(5'000, 'a')); }));
  EXPECT_EQ(replies_[std::string(5'000, 'a')].at(0).kind, Kind::kLast);
  Send(std::string(20'000, 'b'));
  EXPECT_TRUE(Run([this] { return HasEnded(std::string(20'000, 'b')); }));
  EXPECT_EQ(replies_[std::string(20'000, 'b')].at(0).kind, Kind::kLost);
}

TEST_F(ReplicaConnectionTest, WhatMayBeSentIsBounded) {
  options_.max_unsent_bytes = 1000;
  replica_.hello.set_max_requests_in_flight(3);
  replica_.holds = true;
  Start();
  EXPECT_FALSE(connection_->HasRoomFor(1)) << "it is not connected";
  ASSERT_TRUE(RunUntilReady());
  EXPECT_TRUE(connection_->HasRoomFor(5000)) << "nothing waits to be written";
  Send(std::string(5000, 'a'));
  EXPECT_FALSE(connection_->HasRoomFor(1));
  ASSERT_TRUE(Run([this] { return connection_->HasRoomFor(900); }));
  Send("b");
  EXPECT_TRUE(connection_->HasRoomFor(100));
  EXPECT_FALSE(connection_->HasRoomFor(1000));
  Send("c");
  ASSERT_TRUE(Run([this] { return replica_.held.size() == 3; }));
  EXPECT_FALSE(connection_->HasRoomFor(1)) << "three are in flight";
  replica_.AnswerAll();
  EXPECT_TRUE(Run([this] { return connection_->HasRoomFor(1); }));
}

TEST_F(ReplicaConnectionTest, WhoRetiresAnswersWhatIsInFlight) {
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  Send("a");
  ASSERT_TRUE(Run([this] { return replica_.held.size() == 1; }));
  connection_->Retire();
  EXPECT_FALSE(connection_->is_ready());
  EXPECT_FALSE(connection_->has_ended());
  replica_.AnswerAll();
  ASSERT_TRUE(Run([this] { return HasEnded("a"); }));
  EXPECT_EQ(replies_["a"].at(0).kind, Kind::kLast);
  EXPECT_TRUE(connection_->has_ended());
  EXPECT_EQ(lost_, 0);
}

TEST_F(ReplicaConnectionTest, WhatIsInFlightIsLostWhenItIsClosed) {
  replica_.holds = true;
  Start();
  ASSERT_TRUE(RunUntilReady());
  Send("a");
  connection_->Close();
  EXPECT_TRUE(HasEnded("a"));
  EXPECT_EQ(replies_["a"].at(0).kind, Kind::kLost);
  EXPECT_TRUE(connection_->has_ended());
}

}  // namespace replica_connection_test
}  // namespace scorecast::coordinator
