#include "coordinator/transports/socket/request_envelope.h"

#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "coordinator/transports/socket/http_request.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace request_envelope_test {

v1::Request HttpRequestWith(const std::string& body) {
  v1::Request request;
  request.set_request_id(7);
  v1::HttpRequest& http = *request.mutable_http();
  http.set_method("POST");
  http.set_path("/v1/score");
  http.set_path_prefix("/pinecone");
  http.set_request_id("an-id");
  http.set_content_type("application/json");
  http.set_content_encoding("identity");
  http.set_accept_encoding("gzip");
  http.set_body(body);
  return request;
}

/// The body that the envelope finds in the message.
std::string BodyIn(const std::string& message, const RequestEnvelope& envelope) {
  return message.substr(envelope.http->body_begin, envelope.http->body_size);
}

TEST(RequestEnvelope, HasWhatStandsBesideTheEndpointsMessage) {
  v1::Request request;
  request.set_request_id(7);
  request.mutable_forwarded()->set_client("192.0.2.7");
  request.mutable_score()->add_labels("a");
  const RequestEnvelope envelope = EnvelopeOf(request.SerializeAsString());
  EXPECT_EQ(envelope.request_id, 7U);
  EXPECT_EQ(envelope.forwarded, request.forwarded().SerializeAsString());
  EXPECT_FALSE(envelope.http);
  EXPECT_EQ(EnvelopeOf("no message").request_id, 0U);
}

TEST(RequestEnvelope, TheIdIsKnownFromTheBeginning) {
  v1::Request request = HttpRequestWith(std::string(10'000, 'x'));
  request.mutable_forwarded()->set_client("192.0.2.7");
  const std::string message = request.SerializeAsString();
  for (const std::size_t bytes :
       {std::size_t{2}, std::size_t{3}, std::size_t{20}, std::size_t{4'096}, message.size()}) {
    EXPECT_EQ(RequestIdIn(message.substr(0, bytes)), 7U) << bytes;
  }
  EXPECT_EQ(RequestIdIn(message.substr(0, 1)), 0U);
  EXPECT_EQ(RequestIdIn(""), 0U);
  EXPECT_EQ(RequestIdIn("no message"), 0U);
  request.clear_request_id();
  EXPECT_EQ(RequestIdIn(request.SerializeAsString()), 0U);
}

TEST(RequestEnvelope, FindsTheBodyOfAnHttpRequestInItsMessage) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{300'000}}) {
    const std::string body(size, '\xff');
    const std::string message = HttpRequestWith(body).SerializeAsString();
    const RequestEnvelope envelope = EnvelopeOf(message);
    ASSERT_TRUE(envelope.http) << size;
    EXPECT_EQ(envelope.request_id, 7U);
    EXPECT_EQ(BodyIn(message, envelope), body);
    const auto passed = ReadHttpRequest(envelope.http->rest);
    ASSERT_TRUE(passed) << size;
    EXPECT_EQ(passed->request.method, "POST");
    EXPECT_EQ(passed->request.path, "/v1/score");
    EXPECT_EQ(passed->request.path_prefix, "/pinecone");
    EXPECT_EQ(passed->request.content_type, "application/json");
    EXPECT_EQ(passed->request.content_encoding, "") << "identity is no encoding";
    EXPECT_EQ(passed->request.accept_encoding, "gzip");
    EXPECT_EQ(passed->request_id, "an-id");
  }
}

// As a parser of the whole message does.
TEST(RequestEnvelope, TheFieldsOfASecondHttpRequestReplaceThoseOfTheFirst) {
  v1::Request second;
  second.mutable_http()->set_path("/v1/rerank");
  second.mutable_http()->set_body("second");
  const std::string message =
      HttpRequestWith("first").SerializeAsString() + second.SerializeAsString();
  const RequestEnvelope envelope = EnvelopeOf(message);
  ASSERT_TRUE(envelope.http);
  EXPECT_EQ(BodyIn(message, envelope), "second");
  const auto passed = ReadHttpRequest(envelope.http->rest);
  ASSERT_TRUE(passed);
  EXPECT_EQ(passed->request.path, "/v1/rerank");
  EXPECT_EQ(passed->request.method, "POST");
}

TEST(RequestEnvelope, IsEmptyIfTheHttpRequestIsBroken) {
  const std::string message = HttpRequestWith("body").SerializeAsString();
  for (std::size_t size = 3; size < message.size(); ++size) {
    EXPECT_FALSE(EnvelopeOf(message.substr(0, size)).http) << size;
  }
  v1::Request inner;
  inner.mutable_http()->set_body("four");
  for (const char length : {'\x07', '\x05', '\xff'}) {
    std::string longer = inner.SerializeAsString();
    longer[3] = length;  // That of the body.
    EXPECT_FALSE(EnvelopeOf(longer).http);
    EXPECT_FALSE(EnvelopeOf(longer + "behind it").http);
  }
}

TEST(RequestEnvelope, OfAnHttpRequestIsReadInBoundedTimeAndMemory) {
  v1::Request request = HttpRequestWith("body");
  request.mutable_http()->set_path("/" + std::string(50'000, 'x'));
  EXPECT_FALSE(EnvelopeOf(request.SerializeAsString()).http);
  std::string fields;
  for (int i = 0; i < 100; ++i) {
    fields += HttpRequestWith("").http().SerializeAsString();
  }
  request.mutable_http()->ParseFromString(fields);
  // 0x4a: the tag of `http`; a length of two bytes.
  std::string message("\x4a", 1);
  message += static_cast<char>(0x80 | (fields.size() & 0x7f));
  message += static_cast<char>(0x80 | ((fields.size() >> 7) & 0x7f));
  message += static_cast<char>(fields.size() >> 14);
  EXPECT_TRUE(v1::Request().ParseFromString(message + fields));
  EXPECT_FALSE(EnvelopeOf(message + fields).http);
}

TEST(RequestEnvelope, OfAMessageWithAFaultSaysWhoseItIs) {
  v1::Request beginning;
  beginning.set_request_id(7);
  beginning.mutable_forwarded()->set_client("192.0.2.7");
  // An HTTP request of one byte: the tag of a group that does not end.
  const RequestEnvelope envelope =
      EnvelopeOf(beginning.SerializeAsString() + std::string("\x4a\x01\x0b"));
  EXPECT_EQ(envelope.request_id, 7U);
  EXPECT_EQ(envelope.forwarded, beginning.forwarded().SerializeAsString());
  EXPECT_FALSE(envelope.http);
}

TEST(RequestEnvelope, IsEmptyIfFieldsBesideTheHttpRequestAreTooManyToRead) {
  std::string message = HttpRequestWith("body").SerializeAsString();
  for (int i = 0; i < 63; ++i) {
    message += "\x98\x06\x01";  // Field 99, which there is not.
  }
  v1::Request forwarded;
  forwarded.mutable_forwarded()->set_client("192.0.2.7");
  EXPECT_FALSE(EnvelopeOf(message + forwarded.SerializeAsString()).http);
}

TEST(HttpRequest, HasFieldsOfTheHeaderThatAreNotUtf8) {
  const auto passed = ReadHttpRequest("\x12\x01/\x3a\x02*\xff");
  ASSERT_TRUE(passed);
  EXPECT_EQ(passed->request.accept_encoding, "*\xff");
}

TEST(HttpRequest, MustHaveTextsInUtf8) {
  EXPECT_FALSE(ReadHttpRequest("\x12\x01\xff")) << "the path";
  EXPECT_TRUE(ReadHttpRequest("\x12\x01/"));
  const auto passed = ReadHttpRequest(
      "\x22\x03"
      "a b");
  ASSERT_TRUE(passed);
  EXPECT_NE(passed->request_id, "a b") << "an id that is harmful in the log";
}

}  // namespace request_envelope_test
}  // namespace scorecast::coordinator
