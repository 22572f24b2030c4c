// Streams that go on at another replica.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/front/forwarder.h"
#include "tests/coordinator/front/front_fixture.h"

namespace scorecast::coordinator {
namespace forwarder_streams_test {

using ::testing::IsEmpty;

/// A part of a stream: a delta that brings a completion up to so many tokens.
v1::Response DeltaOf(const v1::Request& request, const std::string& body, std::uint32_t output,
                     std::int64_t tokens) {
  v1::Response response = PartOf(request, body);
  response.mutable_position()->set_output(output);
  response.mutable_position()->set_tokens(tokens);
  response.mutable_position()->set_digest(static_cast<std::uint64_t>(1000 * output + tokens));
  return response;
}

class ForwarderStreamTest : public FrontFixture {
 protected:
  /// Forwards "1", and lets it begin at `a_`.
  void Begin() {
    a_.holds = true;
    b_.holds = true;
    ASSERT_TRUE(StartWith());
    Forward("1");
    ASSERT_TRUE(Run([this] { return a_.held.size() == 1; })) << "the first one if both are idle";
    Send(a_, "x", 0, 2);
  }
  void Send(FakeReplica& replica, const std::string& body, std::uint32_t output,
            std::int64_t tokens) {
    const std::size_t before = replies_["1"].size();
    replica.Send(DeltaOf(replica.held.at(0), body, output, tokens));
    ASSERT_TRUE(Run([&] { return replies_["1"].size() > before; }));
  }
  /// The bodies that the client has got.
  std::string Text() {
    std::string text;
    for (const FrontReply& reply : replies_["1"]) {
      text += reply.response.http().body();
    }
    return text;
  }
};

TEST_F(ForwarderStreamTest, GoesOnAtAnotherReplica) {
  Begin();
  Send(a_, "y", 1, 1);
  Send(a_, "z", 0, 5);
  a_.Die();
  ASSERT_TRUE(Run([this] { return b_.held.size() == 1; }));
  const v1::Request& again = b_.held[0];
  EXPECT_EQ(again.http().body(), "1");
  const v1::Forwarded& forwarded = again.forwarded();
  ASSERT_EQ(forwarded.sent_size(), 2);
  EXPECT_EQ(forwarded.sent(0).output(), 0U);
  EXPECT_EQ(forwarded.sent(0).tokens(), 5);
  EXPECT_EQ(forwarded.sent(0).digest(), 5U);
  EXPECT_EQ(forwarded.sent(1).output(), 1U);
  EXPECT_EQ(forwarded.sent(1).tokens(), 1);
  EXPECT_EQ(forwarded.sent(1).digest(), 1001U);
  const v1::Forwarded& first = a_.seen.at(0).forwarded();
  EXPECT_EQ(first.sent_size(), 0);
  for (const v1::Forwarded& one : {first, forwarded}) {
    EXPECT_EQ(one.default_seed(), 5U);
    EXPECT_EQ(one.response_id(), 6U);
    EXPECT_EQ(one.created(), 7);
  }
  Send(b_, "w", 1, 2);
  b_.Send(PartOf(b_.held[0], "end", /*is_last=*/true));
  EXPECT_EQ(EndOf("1"), "end");
  EXPECT_EQ(Text(), "xyzwend");
  for (const FrontReply& reply : replies_["1"]) {
    EXPECT_FALSE(reply.response.has_position());
  }
  EXPECT_EQ(forwarder_->in_flight(), 0U);
}

TEST_F(ForwarderStreamTest, GoesOnAsOftenAsARequestIsSent) {
  Begin();
  a_.Die();
  ASSERT_TRUE(Run([this] { return b_.held.size() == 1; }));
  Send(b_, "y", 0, 3);
  a_.Revive();
  ASSERT_TRUE(Run([this] { return Usable() == 2; }));
  b_.Die();
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1; }));
  EXPECT_EQ(a_.held[0].forwarded().sent(0).tokens(), 3);
  b_.Revive();
  ASSERT_TRUE(Run([this] { return Usable() == 2; }));
  a_.Die();
  EXPECT_EQ(EndOf("1"), "replica_lost");
  EXPECT_EQ(replies_["1"].back().response.error().code(), 502);
  EXPECT_EQ(Text(), "xy");
  EXPECT_EQ(b_.seen.size(), 1U);
}

TEST_F(ForwarderStreamTest, GoesOnElsewhereIfItsReplicaDrains) {
  Begin();
  a_.status.set_draining(true);
  v1::Response refusal = PartOf(a_.held[0], "draining", /*is_last=*/true);
  refusal.mutable_http()->set_status(503);
  a_.Send(refusal);
  ASSERT_TRUE(Run([this] { return b_.held.size() == 1; }));
  EXPECT_EQ(b_.held[0].forwarded().sent(0).tokens(), 2);
  b_.Send(PartOf(b_.held[0], "end", /*is_last=*/true));
  EXPECT_EQ(EndOf("1"), "end");
  EXPECT_EQ(Text(), "xend");
}

TEST_F(ForwarderStreamTest, OtherErrorsEndIt) {
  Begin();
  v1::Response late = PartOf(a_.held[0], "deadline_passed", /*is_last=*/true);
  late.mutable_http()->set_status(504);
  a_.Send(late);
  EXPECT_EQ(EndOf("1"), "deadline_passed");
  EXPECT_THAT(b_.seen, IsEmpty());
}

TEST_F(ForwarderStreamTest, DoesNotGoOnWhereTheResponseIsAnother) {
  Begin();
  b_.Die();
  ASSERT_TRUE(Run([this] { return Usable() == 1; }));
  b_.hello.set_version("2.0");
  b_.Revive();
  ASSERT_TRUE(Run([this] { return b_.greeted == 2; }));
  a_.Die();
  EXPECT_EQ(EndOf("1"), "replica_lost");
  EXPECT_THAT(b_.seen, IsEmpty());
}

TEST_F(ForwarderStreamTest, WaitsForAReplica) {
  b_.Die();
  a_.holds = true;
  ASSERT_TRUE(StartWith(1));
  Forward("1");
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1; }));
  Send(a_, "x", 0, 2);
  a_.Die();
  ASSERT_TRUE(Run([this] { return forwarder_->waiting() == 1; }));
  EXPECT_FALSE(HasEnded("1"));
  a_.Revive();
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1; }));
  EXPECT_EQ(a_.held[0].forwarded().sent(0).tokens(), 2);
  a_.Send(PartOf(a_.held[0], "end", /*is_last=*/true));
  EXPECT_EQ(EndOf("1"), "end");
}

TEST_F(ForwarderStreamTest, OfTooManyCompletionsDoesNotGoOn) {
  Begin();
  for (std::uint32_t output = 1; output < 511; ++output) {
    a_.Send(DeltaOf(a_.held.at(0), ".", output, 1'000'000'000));
  }
  Send(a_, ".", 511, 1);
  ASSERT_TRUE(Run([this] { return replies_["1"].size() == 512; }));
  a_.Die();
  ASSERT_TRUE(Run([this] { return b_.held.size() == 1; }));
  EXPECT_EQ(b_.held[0].forwarded().sent_size(), 512);
  EXPECT_LT(b_.held[0].forwarded().ByteSizeLong(), 15'000U) << "a replica takes 16 KiB";
  Send(b_, ".", 512, 1);
  b_.Die();
  EXPECT_EQ(EndOf("1"), "replica_lost");
}

TEST_F(ForwarderStreamTest, WhoseSeedAReplicaHasChosenDoesNotGoOn) {
  a_.holds = true;
  ASSERT_TRUE(StartWith());
  FrontRequest request = RequestOf("1");
  request.defaults.reset();
  Forward(std::move(request));
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1; }));
  EXPECT_FALSE(a_.held[0].forwarded().has_default_seed());
  Send(a_, "x", 0, 2);
  a_.Die();
  EXPECT_EQ(EndOf("1"), "replica_lost");
  EXPECT_THAT(b_.seen, IsEmpty());
}

TEST_F(ForwarderStreamTest, ACancelEndsOneThatWaits) {
  a_.holds = true;
  b_.Die();
  ASSERT_TRUE(StartWith(1));
  const std::uint64_t id = Forward(RequestOf("1"));
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1; }));
  Send(a_, "x", 0, 2);
  a_.Die();
  ASSERT_TRUE(Run([this] { return forwarder_->waiting() == 1; }));
  forwarder_->Cancel(id);
  EXPECT_EQ(forwarder_->waiting(), 0U);
  EXPECT_EQ(forwarder_->in_flight(), 0U);
}

}  // namespace forwarder_streams_test
}  // namespace scorecast::coordinator
