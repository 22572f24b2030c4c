// The parts of HTTP that need no connection.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/resources/reply_field.h"
#include "coordinator/transports/http/body_framing.h"
#include "coordinator/transports/http/cors.h"
#include "coordinator/transports/http/request_head.h"

namespace scorecast::coordinator {
namespace http_parts_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Cors, NamesTheOriginIfItIsAllowed) {
  const auto is_field = [](const std::string& name, const std::string& value) {
    return AllOf(Field(&ReplyField::name, name), Field(&ReplyField::value, value));
  };
  EXPECT_THAT(CorsFields({}, "https://a"), IsEmpty());
  EXPECT_THAT(CorsFields({"https://a"}, ""), ElementsAre(is_field("Vary", "Origin")));
  EXPECT_THAT(CorsFields({"https://a"}, "https://b"), ElementsAre(is_field("Vary", "Origin")));
  for (const std::string allowed : {"https://a", "*"}) {
    EXPECT_THAT(CorsFields({"https://c", allowed}, "https://a"),
                Contains(is_field("Access-Control-Allow-Origin", "https://a")));
  }
  EXPECT_THAT(PreflightFields("POST, OPTIONS", "content-type, x-key"),
              Contains(is_field("Access-Control-Allow-Headers", "content-type, x-key")));
  EXPECT_THAT(PreflightFields("POST", "a: b"),
              Not(Contains(Field(&ReplyField::name, "Access-Control-Allow-Headers"))));
}

/// Gives the bytes in pieces of `size`. Returns the body; "bad" if the framing is bad, and "more"
/// if it has not ended.
std::string BodyOf(BodyFraming framing, const std::string& bytes, std::size_t size,
                   std::string* rest = nullptr) {
  std::string pending;
  std::string body;
  for (std::size_t at = 0; at < bytes.size() && framing.state() == BodyFraming::State::kMore;
       at += size) {
    pending += bytes.substr(at, size);
    for (;;) {
      const BodyFraming::Piece piece = framing.Take(pending);
      body += piece.body;
      if (piece.consumed == 0) {
        break;
      }
      pending.erase(0, piece.consumed);
    }
  }
  if (rest != nullptr) {
    *rest = pending;
  }
  switch (framing.state()) {
    case BodyFraming::State::kEnd:
      return body;
    case BodyFraming::State::kBad:
      return "bad";
    case BodyFraming::State::kMore:
      return "more";
  }
  return "";
}

TEST(BodyFraming, OfALength) {
  EXPECT_EQ(BodyFraming::OfLength(0).state(), BodyFraming::State::kEnd);
  for (const std::size_t size : {1, 2, 100}) {
    EXPECT_EQ(BodyOf(BodyFraming::OfLength(5), "hello", size), "hello");
    EXPECT_EQ(BodyOf(BodyFraming::OfLength(6), "hello", size), "more");
  }
  std::string rest;
  EXPECT_EQ(BodyOf(BodyFraming::OfLength(5), "helloGET /", 100, &rest), "hello");
  EXPECT_EQ(rest, "GET /") << "the next request is left alone";
}

TEST(BodyFraming, InChunks) {
  const auto chunks = [](const std::string& bytes, std::size_t size) {
    return BodyOf(BodyFraming::InChunks(), bytes, size);
  };
  for (const std::size_t size : {1, 2, 3, 7, 1000}) {
    EXPECT_EQ(chunks("5\r\nhello\r\n0\r\n\r\n", size), "hello");
    EXPECT_EQ(chunks("0\r\n\r\n", size), "");
    EXPECT_EQ(
        chunks("00000000000000002;a=\"b\"\r\nhe\r\nA\r\n\r\n23456789\r\n0;x\r\nA: b\r\nC:\r\n\r\n",
               size),
        "he\r\n23456789");
    EXPECT_EQ(chunks("5\r\nhello\r\n0\r\n", size), "more");
    EXPECT_EQ(chunks("5\r\nhel", size), "more");
    for (const std::string bad :
         {"\r\n", "g\r\n", "-1\r\n", "0x5\r\nhello\r\n", "5 5\n", "5\nhello\r\n", "5\r\nhelloo\r\n",
          "5\r\nhello\n0\r\n\r\n", "10000000000000000\r\n", "5.\r\n", "5 5\r\nhello\r\n",
          "5;a\rb\r\nhello\r\n", "5\r\r\nhello\r\n"}) {
      EXPECT_EQ(chunks(bad, size), "bad") << bad;
    }
    EXPECT_EQ(chunks("0\r\nX-a_1: b\tc \xc3\xa4:\r\n\r\n", size), "");
    for (const std::string bad :
         {"A", "GET / HTTP/1.1", ": b", "A : b", "A b: c", "A\x01: b", "A: b\x01", "A: \x7f",
          "A: b\rC: d", "A: b\r", " A: b", "A: b\r\n c", "A: b\r\n\tc: d", " "}) {
      EXPECT_EQ(chunks("1\r\nx\r\n0\r\n" + bad + "\r\n\r\n", size), "bad") << bad;
    }
    EXPECT_EQ(chunks(std::string("0\r\nA: b\0c\r\n\r\n", 14), size), "bad");
    EXPECT_EQ(chunks(std::string(5000, '0'), size), "bad") << "a line without end";
    std::string trailers = "0\r\n";
    for (int i = 0; i < 2000; ++i) {
      trailers += "A: 0123456789\r\n";
    }
    EXPECT_EQ(chunks(trailers, size), "bad") << "trailers without end";
    std::string extensions;
    for (int i = 0; i < 20; ++i) {
      extensions += "1;" + std::string(1000, 'x') + "\r\n.\r\n";
    }
    EXPECT_EQ(chunks(extensions, size), "bad") << "extensions without end";
    std::string small;
    for (int i = 0; i < 20'000; ++i) {
      small += "1;a\r\n.\r\n";
    }
    EXPECT_EQ(chunks(small + "0\r\n\r\n", size), std::string(20'000, '.'));
  }
  std::string rest;
  EXPECT_EQ(BodyOf(BodyFraming::InChunks(), "1\r\nx\r\n0\r\n\r\nGET", 100, &rest), "x");
  EXPECT_EQ(rest, "GET");
}

/// Gives the bytes in pieces of `size`.
struct ParsedHead {
  ParsedHead(const std::string& bytes, std::size_t size) {
    for (std::size_t at = 0; at < bytes.size() && !parser.is_done() && !parser.fault();
         at += size) {
      pending += bytes.substr(at, size);
      pending.erase(0, parser.Take(pending));
    }
  }

  HeadParser parser;
  std::string pending;
};

TEST(HeadParser, ReadsPiecesOfAnySize) {
  const std::string bytes =
      "POST /v1/score?a HTTP/1.1\r\nHost: h\r\ncontent-type: application/json\r\nX-Request-Id: "
      "id\r\n"
      "Content-Length: 12\r\nExpect: 100-Continue\r\n\r\nbody";
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const ParsedHead parsed(bytes, size);
    ASSERT_TRUE(parsed.parser.is_done()) << size;
    const RequestHead& head = parsed.parser.head();
    EXPECT_EQ(head.method, "POST");
    EXPECT_EQ(head.path, "/v1/score");
    EXPECT_EQ(head.content_type, "application/json");
    EXPECT_EQ(head.request_id, "id");
    EXPECT_EQ(head.framing.left(), 12U);
    EXPECT_TRUE(head.keep_alive);
    EXPECT_TRUE(head.expects_continue);
    EXPECT_FALSE(head.is_http_1_0);
  }
}

TEST(HeadParser, JoinsTheEncodingsOfABody) {
  const ParsedHead parsed(
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Type: a/b\r\n"
      "Content-Encoding: identity\r\nContent-Type: c/d\r\n\r\n",
      1000);
  EXPECT_EQ(parsed.parser.head().content_encoding, "gzip, identity");
  EXPECT_EQ(parsed.parser.head().content_type, "a/b, c/d");
}

TEST(HeadParser, RefusesFieldsOfTwoLines) {
  const std::string begin = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string folded :
       {"A: b\r\n c\r\n", "A: b\r\n\tc\r\n", "A:\r\n b\r\n", "A: b\r\n \r\n",
        "Transfer-Encoding:\r\n chunked\r\n", "A: b\r\n\t\r\nContent-Length: 1\r\n"}) {
    for (std::size_t size = 1; size < begin.size() + folded.size() + 3; ++size) {
      const ParsedHead parsed(begin + folded + "\r\n", size);
      ASSERT_TRUE(parsed.parser.fault()) << folded << " by " << size;
      EXPECT_EQ(parsed.parser.fault()->reason, "bad_http");
    }
  }
  const ParsedHead longer(begin + "A: " + std::string(5000, 'a') + "\r\n b\r\n\r\n", 100'000);
  ASSERT_TRUE(longer.parser.fault());
  EXPECT_EQ(longer.parser.fault()->code, 400);
  // A body may begin with a space, and arrive together with the end of the header or without it.
  const std::string good = begin + "Content-Length: 2\r\n\r\n x";
  for (std::size_t size = 1; size <= good.size(); ++size) {
    EXPECT_TRUE(ParsedHead(good, size).parser.is_done()) << size;
  }
}

TEST(HeadParser, KnowsWhenAConnectionIsKept) {
  const auto keeps = [](const std::string& version, const std::string& fields) {
    return ParsedHead("GET / HTTP/" + version + "\r\nHost: h\r\n" + fields + "\r\n", 1000)
        .parser.head()
        .keep_alive;
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_FALSE(keeps("1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: TE, Close\r\n"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Connection: keep-alive\r\n"));
}

TEST(HeadParser, RefusesWhatItDoesNotUnderstand) {
  struct Case {
    std::string bytes;
    int code;
  };
  const std::string host = "Host: h\r\n";
  const std::string post = "POST /v1/score HTTP/1.1\r\n" + host;
  const std::vector<Case> cases = {
      {"\x16\x03\x01", 400},
      {"GET  / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: h\n\n\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n", 400},
      {"GET / HTTP/0.9\r\n" + host + "\r\nbody\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"GET / HTTP/0.9\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + host + "\r\n", 400},
      {"GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400},
      {"GET host:80 HTTP/1.1\r\n" + host + "\r\n", 400},
      {post + "Content-Length: -1\r\n\r\n", 400},
      {post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {post + "Content-Length: 99999999999999999999\r\n\r\n", 400},
      {post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {post + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {post + "Transfer-Encoding: gzip\r\n\r\n", 501},
      {post + "Transfer-Encoding:\r\n\r\n", 400},
      {post + "Transfer-Encoding: \t\r\nContent-Length: 1\r\n\r\n", 400},
      {post + "Content-Length: 1\r\nTransfer-Encoding:\r\n\r\n", 400},
      {post + "Transfer-Encoding: ,\r\n\r\n", 400},
      {post + "Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n\r\n", 400},
      {"POST / HTTP/1.0\r\nTransfer-Encoding:\r\n\r\n", 400},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {post + "Expect: miracles\r\n\r\n", 417},
      {"GET /" + std::string(9000, 'a'), 414},
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n" + host + "\r\n", 414},
      {"GET / HTTP/1.1\r\n" + host + "A: " + std::string(40'000, 'a'), 431},
      {"GET / HTTP/1.1\r\n" + host + "A: " + std::string(40'000, 'a') + "\r\n\r\n", 431},
  };
  for (const Case& one : cases) {
    for (const std::size_t size : {1, 1000, 100'000}) {
      const ParsedHead parsed(one.bytes, size);
      ASSERT_TRUE(parsed.parser.fault()) << one.bytes.substr(0, 200) << " by " << size;
      EXPECT_EQ(parsed.parser.fault()->code, one.code)
          << one.bytes.substr(0, 200) << " by " << size << ": " << parsed.parser.fault()->message;
      EXPECT_FALSE(parsed.parser.is_done());
    }
  }
}

TEST(HeadParser, TellsPineconesClients) {
  const auto prefix_with = [](const std::string& field) {
    const std::string bytes = "POST /rerank HTTP/1.1\r\nHost: h\r\n" + field + "\r\n";
    return ParsedHead(bytes, bytes.size()).parser.head().path_prefix;
  };
  EXPECT_EQ(prefix_with("X-Pinecone-API-Version: 2025-04\r\n"), "/pinecone");
  EXPECT_EQ(prefix_with(""), "");
}

}  // namespace http_parts_test
}  // namespace scorecast::coordinator
