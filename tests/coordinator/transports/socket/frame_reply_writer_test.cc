#include "coordinator/transports/socket/frame_reply_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/transports/web/reply_coding.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace frame_reply_writer_test {

constexpr std::uint64_t kId = 7;

/// The messages of frames, which stand behind each other.
std::vector<v1::Response> MessagesIn(std::string frames) {
  std::vector<v1::Response> messages;
  while (frames.size() >= proto::kFrameHeaderBytes) {
    proto::FrameHeader header;
    std::copy_n(frames.begin(), header.size(), header.begin());
    const std::size_t length = proto::FrameLength(header);
    EXPECT_TRUE(messages.emplace_back().ParseFromString(frames.substr(header.size(), length)));
    frames.erase(0, header.size() + length);
  }
  EXPECT_EQ(frames, "");
  return messages;
}

v1::Response OnlyMessageIn(const std::string& frames) {
  const auto messages = MessagesIn(frames);
  EXPECT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages.at(0).request_id(), kId);
  return messages.at(0);
}

std::string FieldOf(const v1::HttpReply& reply, const std::string& name) {
  for (const v1::HttpField& field : reply.fields()) {
    if (field.name() == name) {
      return field.value();
    }
  }
  return {};
}

ReplyTerms Terms(const std::string& accept_encoding = {}) {
  ReplyTerms terms;
  terms.coding = ReplyCodingOf(accept_encoding);
  terms.compress_from = 1000;
  return terms;
}

std::shared_ptr<RecentState> Waiting(std::int64_t requests) {
  return std::make_shared<RecentState>([requests] {
    ServerState state;
    state.waiting_requests = requests;
    return state;
  });
}

TEST(FrameReplyWriter, AWholeReplyIsOneFrame) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{100'000}}) {
    const std::string body(size, 'x');
    FrameReplyWriter writer(Terms(), {kId, Waiting(3)});
    EXPECT_EQ(writer.number(), kId);
    const v1::Response response =
        OnlyMessageIn(writer.Whole(201, "text/plain", body, {{"Allow", "GET"}}));
    EXPECT_EQ(response.status().waiting_requests(), 3);
    const v1::HttpReply& reply = response.http();
    EXPECT_EQ(reply.status(), 201U);
    EXPECT_EQ(FieldOf(reply, "Content-Type"), "text/plain");
    EXPECT_EQ(FieldOf(reply, "Allow"), "GET");
    EXPECT_EQ(FieldOf(reply, "Content-Length"), "");
    EXPECT_EQ(reply.body(), body);
    EXPECT_TRUE(reply.last());
    const auto write = [&](std::string& to) { to += body; };
    EXPECT_EQ(writer.Whole(201, "text/plain", write), writer.Whole(201, "text/plain", body));
    // What a resource has, whose body is written behind it.
    EXPECT_EQ(writer.BeforeBody(201, "text/plain", size, size, std::nullopt) + body,
              writer.Whole(201, "text/plain", body));
  }
}

TEST(FrameReplyWriter, AReplyInPartsHasAHeaderInTheFirstAndAStateInTheLast) {
  FrameReplyWriter writer(Terms(), {kId, Waiting(3)});
  std::string frames = writer.Begin("text/event-stream");
  frames += writer.Part("one", false);
  frames += writer.Part("", false);
  frames += writer.Part("three", true);
  const auto parts = MessagesIn(frames);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].http().status(), 200U);
  EXPECT_EQ(FieldOf(parts[0].http(), "Content-Type"), "text/event-stream");
  EXPECT_EQ(FieldOf(parts[0].http(), "Transfer-Encoding"), "");
  EXPECT_EQ(parts[0].http().body(), "one");
  EXPECT_EQ(parts[1].http().body(), "");
  EXPECT_EQ(parts[2].http().body(), "three");
  for (const v1::Response& part : parts) {
    const bool is_last = &part == &parts.back();
    EXPECT_EQ(part.request_id(), kId);
    EXPECT_EQ(part.http().last(), is_last);
    EXPECT_EQ(part.has_status(), is_last);
    EXPECT_EQ(part.http().status() != 0, &part == &parts.front());
  }
}

TEST(FrameReplyWriter, AnEventOfADeltaHasItsPosition) {
  FrameReplyWriter writer(Terms(), {kId, nullptr});
  std::string frames = writer.Begin("text/event-stream");
  frames += writer.Event("{\"a\":1}", StreamPosition{.output = 3, .reached = {17, 1ULL << 63}});
  frames += writer.LastEvent("2");
  const auto parts = MessagesIn(frames);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].http().body(), "data: {\"a\":1}\n\n");
  EXPECT_EQ(parts[0].position().output(), 3U);
  EXPECT_EQ(parts[0].position().tokens(), 17);
  EXPECT_EQ(parts[0].position().digest(), 1ULL << 63);
  EXPECT_EQ(parts[1].http().body(), "data: 2\n\ndata: [DONE]\n\n");
  EXPECT_TRUE(parts[1].http().last());
  EXPECT_FALSE(parts[1].has_position());
  EXPECT_EQ(parts[1].http().status(), 0U);
}

TEST(FrameReplyWriter, AnErrorThatEndsAStreamHasAStatus) {
  const proto::Error error = {503, "draining", "The server drains.", ""};
  FrameReplyWriter writer(Terms(), {kId, Waiting(3)});
  std::string frames = writer.Begin("text/event-stream");
  frames += writer.Event("1", std::nullopt);
  frames += writer.ErrorEvent(error);
  const auto parts = MessagesIn(frames);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1].http().status(), 503U);
  EXPECT_EQ(parts[1].http().body(), "data: " + writer.ErrorText(error) + "\n\ndata: [DONE]\n\n");
  EXPECT_EQ(parts[1].status().waiting_requests(), 3);
  // A stream that another server has begun has no header.
  ReplyTerms terms = Terms();
  terms.continues = true;
  FrameReplyWriter next(terms, {kId, nullptr});
  const v1::HttpReply reply = OnlyMessageIn(next.Error(error, {{"Retry-After", "3"}})).http();
  EXPECT_EQ(reply.status(), 503U);
  EXPECT_EQ(reply.body(), parts[1].http().body());
  EXPECT_EQ(reply.fields_size(), 0);
  EXPECT_TRUE(reply.last());
}

TEST(FrameReplyWriter, AReplyToAHeadHasNoBody) {
  ReplyTerms terms = Terms();
  terms.is_head = true;
  FrameReplyWriter writer(terms, {kId, nullptr});
  const v1::Response response = OnlyMessageIn(writer.Whole(200, "text/plain", "body"));
  EXPECT_EQ(response.http().body(), "");
  EXPECT_EQ(response.http().status(), 200U);
  EXPECT_FALSE(response.has_status());
}

TEST(FrameReplyWriter, ALongBodyIsCompressed) {
  const std::string body(2000, 'x');
  FrameReplyWriter writer(Terms("gzip, zstd"), {kId, nullptr});
  const v1::HttpReply reply = OnlyMessageIn(writer.Whole(200, "text/plain", body)).http();
  EXPECT_EQ(reply.body(), Compressed(body, ContentCoding::kZstd));
  EXPECT_EQ(FieldOf(reply, "Content-Encoding"), "zstd");
  EXPECT_EQ(FieldOf(reply, "Vary"), "Accept-Encoding");
}

TEST(FrameReplyWriter, AnErrorSaysWhenToComeBack) {
  FrameReplyWriter writer(Terms(), {kId, nullptr});
  const v1::HttpReply reply =
      OnlyMessageIn(writer.Error({429, "queue_full", "Wait.", "", 3})).http();
  EXPECT_EQ(reply.status(), 429U);
  EXPECT_EQ(FieldOf(reply, "Retry-After"), "3");
  EXPECT_EQ(reply.body(), writer.ErrorText({429, "queue_full", "Wait.", "", 3}));
}

}  // namespace frame_reply_writer_test
}  // namespace scorecast::coordinator
