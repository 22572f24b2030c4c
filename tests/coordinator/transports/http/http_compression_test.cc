// Replies that are compressed: by which coding, which of them, and that they are the same replies.

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/transports/web/compressed_contents.h"
#include "coordinator/transports/web/inflate.h"
#include "coordinator/transports/web/reply_coding.h"
#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_compression_test {

std::string Text(const ReplyCoding& coding) {
  return std::string(coding.coding ? NameOf(*coding.coding) : "none") +
         (coding.is_needed ? ", needed" : "");
}

TEST(ReplyCodingOf, IsTheBestThatTheClientTakes) {
  for (const auto& [field, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", "none"},
           {"identity", "none"},
           {"br, deflate", "none"},
           {"gzip", "gzip"},
           {"x-gzip", "gzip"},
           {"GZip, deflate", "gzip"},
           {"deflate, gzip, br, zstd", "zstd"},
           {"zstd;q=0.9, gzip", "gzip"},
           {"zstd;q=0.5,gzip;q=0.499", "zstd"},
           {" gzip ; q=0.001 ", "gzip"},
           {"gzip;Q=1.000", "gzip"},
           {"gzip;q=0", "none"},
           {"gzip;q=0.000, zstd", "zstd"},
           {"*", "gzip"},
           {"*;q=0.5, gzip;q=0", "zstd"},
           {"*, gzip;q=0, zstd;q=0", "none"},
           {"*;q=0", "none, needed"},
           {"identity;q=0", "none, needed"},
           {"gzip, identity;q=0", "gzip, needed"},
           {"gzip, *;q=0", "gzip, needed"},
           {"gzip, *;q=0, identity", "gzip"},
           {"gzip;q=0.5, identity", "none"},
           {"gzip;q=0.5, identity;q=0.5", "gzip"},
           // What is malformed counts as absent.
           {"gzip;q=2", "none"},
           {"gzip;q=1.001", "none"},
           {"gzip;q=0.1234", "none"},
           {"gzip;q=.5", "none"},
           {"gzip;q=", "none"},
           {"gzip;level=1", "none"},
           {"gzip;q=x, zstd", "zstd"},
           {",, ;q=1, gzip,", "gzip"},
       }) {
    EXPECT_EQ(Text(ReplyCodingOf(field)), expected) << field;
  }
}

/// The body of a reply, decompressed.
std::string BodyOf(const HttpReply& reply) {
  const std::string coding = reply.Field("Content-Encoding");
  if (coding.empty()) {
    return reply.body;
  }
  HeldBytes held(100'000'000);
  const auto text = Inflate(
      reply.body, coding == "zstd" ? ContentCoding::kZstd : ContentCoding::kZlib, 50'000'000, held);
  return text ? text->text : text.error().message;
}

constexpr const char* kGzip = "Accept-Encoding: gzip\r\n";
constexpr const char* kZstd = "Accept-Encoding: zstd\r\n";

/// A good body for /v1/score with a long response.
std::string LongScore() {
  nlohmann::json body = ScoreBody(1);
  body["items"] = std::vector<std::string>(100, "x");
  return body.dump();
}

TEST(HttpCompression, LongRepliesAreCompressed) {
  HttpOptions options;
  options.web.compress_from = 1000;
  const FakeHttpServer server({}, options);
  const HttpReply plain = server.Call(Post("/v1/score", LongScore()));
  ASSERT_EQ(plain.status, 200);
  ASSERT_GT(plain.body.size(), 1000u);
  EXPECT_EQ(plain.Field("Content-Encoding"), "");
  EXPECT_EQ(plain.Field("Vary"), "Accept-Encoding");
  for (const auto& [field, name] : {std::pair(kGzip, "gzip"), std::pair(kZstd, "zstd")}) {
    const HttpReply reply = server.Call(Post("/v1/score", LongScore(), field));
    EXPECT_EQ(reply.Field("Content-Encoding"), name);
    EXPECT_EQ(reply.Field("Vary"), "Accept-Encoding");
    EXPECT_EQ(reply.Field("Content-Length"), std::to_string(reply.body.size()));
    EXPECT_LT(reply.body.size(), plain.body.size() / 2);
    EXPECT_EQ(nlohmann::json::parse(BodyOf(reply))["scores"], plain.Json()["scores"]);
  }
}

TEST(HttpCompression, ShortRepliesAreCompressedOnlyIfTheyMustBe) {
  const FakeHttpServer server;
  const HttpReply shorter = server.Call(ScorePost(1, kGzip));
  EXPECT_EQ(shorter.Field("Content-Encoding"), "");
  EXPECT_EQ(shorter.Field("Vary"), "");
  const HttpReply needed = server.Call(ScorePost(1, "Accept-Encoding: gzip, identity;q=0\r\n"));
  EXPECT_EQ(needed.Field("Content-Encoding"), "gzip");
  EXPECT_EQ(nlohmann::json::parse(BodyOf(needed))["scores"], shorter.Json()["scores"]);
  const HttpReply error = server.Call(Get("/none", "Accept-Encoding: zstd, *;q=0\r\n"));
  EXPECT_EQ(error.status, 404);
  EXPECT_EQ(nlohmann::json::parse(BodyOf(error))["reason"], "unknown_url");
  EXPECT_EQ(server.Call(ScorePost(1, "Accept-Encoding: identity;q=0\r\n")).status, 200);
}

TEST(HttpCompression, IsOffIfTheServerSaysSo) {
  HttpOptions options;
  options.web.compress_from = 0;
  const FakeHttpServer server({}, options);
  const HttpReply reply =
      server.Call(Post("/v1/score", LongScore(), "Accept-Encoding: gzip, identity;q=0\r\n"));
  EXPECT_EQ(reply.Field("Content-Encoding"), "");
  EXPECT_EQ(reply.Field("Vary"), "");
}

TEST(HttpCompression, StreamsAreNotCompressed) {
  HttpOptions options;
  options.web.compress_from = 1;
  const FakeHttpServer server({}, options);
  const HttpReply reply = server.Call(
      Post("/v1/chunked", StreamBody(30).dump(), "Accept-Encoding: gzip, identity;q=0\r\n"));
  EXPECT_EQ(reply.Field("Content-Encoding"), "");
  EXPECT_EQ(reply.body.substr(0, 6), "data: ");
}

TEST(CompressedContents, AContentIsCompressedOnce) {
  CompressedContents compressed;
  const SharedContent one = Share({200, "text/plain", std::string(1000, 'a')});
  const SharedContent other = Share({200, "text/plain", std::string(1000, 'b')});
  const auto first = compressed.Get("/a", one, ContentCoding::kZstd);
  EXPECT_EQ(compressed.Get("/a", one, ContentCoding::kZstd), first);
  EXPECT_NE(*compressed.Get("/a", one, ContentCoding::kZlib), *first);
  EXPECT_EQ(*compressed.Get("/a", other, ContentCoding::kZstd),
            Compressed(other->body, ContentCoding::kZstd));
}

TEST(HttpCompression, AResourceThatChangesIsCompressedAgain) {
  std::atomic<int> version = 1;
  HttpOptions options;
  const auto body = [](int number) { return std::string(100'000, 'a') + std::to_string(number); };
  options.web.resources = {{"/changes", [&] { return Share({200, "text/plain", body(version)}); }}};
  const FakeHttpServer server({}, options);
  for (const int number : {1, 2}) {
    version = number;
    for (const char* const field : {kGzip, kZstd, kGzip, ""}) {
      const HttpReply reply = server.Call(Get("/changes", field));
      EXPECT_EQ(BodyOf(reply), body(number)) << field;
      EXPECT_EQ(reply.body.size() < 1000, *field != '\0') << field;
    }
  }
  HttpClient client = server.Connect();
  client.Send("HEAD /changes HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n");
  const HttpReply head = client.Receive(/*to_head=*/true);
  EXPECT_EQ(head.Field("Content-Encoding"), "gzip");
  EXPECT_EQ(head.Field("Content-Length"),
            server.Call(Get("/changes", kGzip)).Field("Content-Length"));
}

}  // namespace http_compression_test
}  // namespace scorecast::coordinator
