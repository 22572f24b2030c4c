#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/front/clients/passed_frame_format.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace passed_format_test {

v1::Request ScoreRequest() {
  v1::Request request;
  request.mutable_score()->mutable_query()->set_text("q");
  request.mutable_score()->set_model("m");
  request.mutable_score()->set_timeout_ms(1500);
  return request;
}

v1::Response ResponseIn(const std::string& frame) {
  v1::Response response;
  EXPECT_TRUE(response.ParseFromString(frame.substr(proto::kFrameHeaderBytes)));
  return response;
}

TEST(PassedFrameFormatTest, TheClientsIdIsNotPassedOnAndComesBack) {
  v1::Request request = ScoreRequest();
  request.set_request_id(7);
  // Of a field that is there twice, the later one counts.
  const std::string message = request.SerializeAsString() + request.SerializeAsString();
  PassedFrameFormat format(message, 7, {});
  const auto passed = format.Take();
  ASSERT_TRUE(passed);
  const std::string one = ScoreRequest().SerializeAsString();
  EXPECT_EQ(passed->bytes, one + one);
  EXPECT_EQ(passed->named.model, "m");
  EXPECT_EQ(passed->named.timeout_ms, 1500);
  FrontReply reply;
  reply.response.mutable_score();
  reply.is_last = true;
  EXPECT_EQ(ResponseIn(format.Part(reply)).request_id(), 7);
}

TEST(PassedFrameFormatTest, OnlyRequestsToEndpointsArePassedOn) {
  v1::Request forwarded;
  forwarded.mutable_forwarded()->set_client("another");
  // Field 99, which there is not.
  PassedFrameFormat format(
      forwarded.SerializeAsString() + "\x98\x06\x01" + ScoreRequest().SerializeAsString(), 7, {});
  const auto passed = format.Take();
  ASSERT_TRUE(passed);
  EXPECT_EQ(passed->bytes, ScoreRequest().SerializeAsString());
  v1::Request cancel;
  cancel.mutable_cancel()->set_request_id(1);
  v1::Request authenticate;
  authenticate.mutable_authenticate()->set_api_key("key");
  v1::Request hello;
  hello.mutable_hello()->set_front_key("key");
  v1::Request reload;
  reload.mutable_reload();
  v1::Request http;
  http.mutable_http()->set_path("/");
  for (const v1::Request& request : {cancel, authenticate, hello, reload, http}) {
    PassedFrameFormat refused(ScoreRequest().SerializeAsString() + request.SerializeAsString(), 7,
                              {});
    const auto taken = refused.Take();
    ASSERT_FALSE(taken) << request.ShortDebugString();
    EXPECT_EQ(taken.error().reason, "unknown_endpoint");
  }
}

TEST(PassedFrameFormatTest, AFieldOfAnotherTypeIsRefused) {
  const std::string score = ScoreRequest().SerializeAsString();
  for (const std::string& field :
       {std::string("\x0a\x02xx"), std::string("\xf0\x01\x01"), std::string("\x10\x01")}) {
    PassedFrameFormat format(field + score, 7, {});
    const auto passed = format.Take();
    ASSERT_FALSE(passed);
    EXPECT_EQ(passed.error().reason, "not_a_message");
  }
}

TEST(PassedFrameFormatTest, WhatIsNoMessageIsRefused) {
  const std::string message = ScoreRequest().SerializeAsString();
  for (const std::string& bytes : {message.substr(0, message.size() - 1),
                                   std::string("\x12\x02\x0a", 3), std::string("\x13")}) {
    PassedFrameFormat format(bytes, 7, {});
    const auto passed = format.Take();
    ASSERT_FALSE(passed);
    EXPECT_EQ(passed.error().reason, "not_a_message");
    const v1::Response response = ResponseIn(format.Error(passed.error()));
    EXPECT_EQ(response.request_id(), 7);
    EXPECT_EQ(response.error().reason(), "not_a_message");
  }
}

}  // namespace passed_format_test
}  // namespace scorecast::coordinator
