// The parts of HTTP that need no connection.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/transports/http/body_framing.h"
#include "coordinator/transports/http/cors.h"
#include "coordinator/transports/http/field_value.h"
#include "coordinator/transports/http/request_head.h"
#include "coordinator/transports/http/request_id.h"
#include "coordinator/transports/http/request_path.h"
#include "coordinator/transports/http/routes.h"

namespace scorecast::coordinator {
namespace http_parts_test {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(RequestPath, IsDecodedAndHasNoQuery) {
  for (const auto& [target, path] :
       std::vector<std::pair<std::string, std::string>>{{"/", "/"},
                                                        {"/v1/score", "/v1/score"},
                                                        {"/v1/score/", "/v1/score"},
                                                        {"/v1/score//?a=/b", "/v1/score"},
                                                        {"/v1/score?query=%zz", "/v1/score"},
                                                        {"/v1/score#part", "/v1/score"},
                                                        {"/v1%2Fscore", "/v1/score"},
                                                        {"/v1/%73core%2f", "/v1/score"},
                                                        {"/a%20b%00", std::string("/a b\0", 5)},
                                                        {"/%c3%a4", "/\xc3\xa4"},
                                                        {"*", "*"},
                                                        {"http://host:80/v1/score?x", "/v1/score"},
                                                        {"https://host", "/"},
                                                        {"HTTP://host/health", "/health"},
                                                        {"https://host?x", "/"}}) {
    const auto found = PathOf(target);
    ASSERT_TRUE(found) << target;
    EXPECT_EQ(*found, path) << target;
  }
  for (const std::string target : {"", "v1", "host:443", "ftp://host/", "/%", "/%4", "/%4g",
                                   "/%%41", "/inference/%ff", "/%c3", "/\xff"}) {
    const auto found = PathOf(target);
    ASSERT_FALSE(found) << target;
    EXPECT_EQ(found.error().reason, "bad_url");
  }
}

TEST(RequestIdOf, IsTheGivenOneIfItIsHarmless) {
  for (const std::string& id :
       std::vector<std::string>{"a", "3f2a-11:x/y+z=@_.", std::string(128, 'x')}) {
    EXPECT_EQ(RequestId(id), id);
  }
  for (const std::string& id :
       std::vector<std::string>{"", "a b", "a\nb", "\xc3\xa4", "a\"", std::string(129, 'x')}) {
    EXPECT_THAT(RequestId(id), MatchesRegex("[0-9a-f]{16}")) << id;
  }
  EXPECT_NE(RequestId(""), RequestId(""));
}

TEST(Cors, NamesTheOriginIfItIsAllowed) {
  EXPECT_EQ(CorsFields({}, "https://a"), "");
  EXPECT_EQ(CorsFields({"https://a"}, ""), "Vary: Origin\r\n");
  EXPECT_EQ(CorsFields({"https://a"}, "https://b"), "Vary: Origin\r\n");
  for (const std::string allowed : {"https://a", "*"}) {
    EXPECT_THAT(CorsFields({"https://c", allowed}, "https://a"),
                HasSubstr("Access-Control-Allow-Origin: https://a\r\n"));
  }
  EXPECT_THAT(PreflightFields("POST, OPTIONS", "content-type, x-key"),
              HasSubstr("Access-Control-Allow-Headers: content-type, x-key\r\n"));
  EXPECT_EQ(PreflightFields("POST", "a: b").find("Allow-Headers"), std::string::npos);
}

TEST(ContentType, MustBeJson) {
  for (const std::string type :
       {"", "application/json", "Application/JSON ; charset=utf-8", "application/vnd.api+json"}) {
    EXPECT_FALSE(ContentTypeFault(type)) << type;
  }
  for (const std::string type :
       {"text/plain", "application/jsonx", "application/x-www-form-urlencoded"}) {
    ASSERT_TRUE(ContentTypeFault(type)) << type;
    EXPECT_EQ(ContentTypeFault(type)->code, 415);
  }
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
      {"GET / HTTP/1.1\nHost: h\n\n\r\n\r\n", 505},
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

TEST(Routes, FindEndpointsAndResourcesAndSayWhatThereIs) {
  const std::vector<Resource> resources = {{"/health", [] { return Share({}); }}};
  const std::vector<RefusedUrl> refused = {{"/v1/images", "There are no images."}};
  const Routes routes(Endpoints(), resources, refused);
  EXPECT_EQ(routes.Find("/v1/score").endpoint, routes.Find("/score").endpoint);
  EXPECT_EQ(routes.Find("/v1/score").Allow(), "POST, OPTIONS");
  EXPECT_EQ(routes.Find("/health").Allow(), "GET, HEAD, OPTIONS");
  EXPECT_FALSE(routes.Find("/v1/images").exists());
  const auto not_found = [&](const char* path) { return routes.NotFound(path, routes.Find(path)); };
  EXPECT_EQ(not_found("/v1/images").message, "There are no images.");
  EXPECT_FALSE(routes.Find("/v1").exists());
  EXPECT_EQ(routes.Find("/inference/a/b").endpoint, &DeepInfraRerankEndpoint());
  EXPECT_EQ(routes.Find("/inference/v1/rerank").endpoint, &RerankEndpoint());
  EXPECT_EQ(routes.Find("/v1/retrieval/a/b/reranking").endpoint, &RerankEndpoint());
  EXPECT_FALSE(routes.Find("/inference/").exists());
  EXPECT_FALSE(routes.Find("/v1/retrieval/reranking").exists());
  EXPECT_EQ(routes.Find("/rerank", "/pinecone").endpoint, &PineconeRerankEndpoint());
  EXPECT_EQ(routes.Find("/pinecone/rerank", "/pinecone").endpoint, &PineconeRerankEndpoint());
  EXPECT_EQ(routes.Find("/health", "/pinecone").resource, &resources.front());
  EXPECT_THAT(not_found("/v1").message, HasSubstr("POST /v1/score"));
  EXPECT_THAT(not_found("/v1").message, HasSubstr("GET /health"));
}

TEST(Routes, DoubledSlashesAndVersionsAreTheSameUrl) {
  const std::vector<Resource> resources = {{"/health", [] { return Share({}); }}};
  const Routes routes(Endpoints(), resources, {});
  for (const char* path : {"/v1/v1/rerank", "//v1/rerank", "/v1//rerank", "/v2/v1/rerank"}) {
    EXPECT_EQ(routes.Find(path).endpoint, routes.Find("/v1/rerank").endpoint) << path;
  }
  EXPECT_EQ(routes.Find("/v1/v2/rerank").endpoint, routes.Find("/v2/rerank").endpoint);
  EXPECT_NE(routes.Find("/v1/v2/embed").endpoint, routes.Find("/v1/embed").endpoint);
  EXPECT_EQ(routes.Find("//health").resource, routes.Find("/health").resource);
  EXPECT_FALSE(routes.Find("/v1/health").exists());
  EXPECT_FALSE(routes.Find("/v3/v1/rerank").exists());
  EXPECT_FALSE(routes.Find("*").exists());
  EXPECT_EQ(UsualPath("//"), "/");
}

TEST(Routes, UrlsOfFireworksNameNoModel) {
  const Routes routes(Endpoints(), {}, {});
  for (const char* path :
       {"/inference/v1//rerank", "/inference//v1/rerank", "/inference/v1/v1/rerank",
        "//inference/v1/rerank", "/inference/v2/v1/rerank"}) {
    EXPECT_EQ(routes.Find(path).endpoint, &RerankEndpoint()) << path;
  }
  for (const char* path :
       {"/inference/v1", "/inference//v1", "/v1/inference/v1", "/v1/inference/v1/rerank",
        "/inference/v1/chat/completions", "/inference//v1/chat/completions",
        "/inference/v1//chat/completions", "/inference/v1/v1/completions",
        "/inference/v1/completions", "/inference/v1/embeddings", "/v1/inference/v1/embeddings"}) {
    EXPECT_FALSE(routes.Find(path).exists()) << path;
  }
  for (const auto& [path, model] :
       std::vector<std::pair<std::string, std::string>>{{"/inference/v1-large", "v1-large"},
                                                        {"/inference/a/v1/b", "a/v1/b"},
                                                        {"//inference/a", "a"},
                                                        {"/v1/v1/inference/a", "a"},
                                                        {"/v1/inference/a", "a"}}) {
    const Route route = routes.Find(path);
    EXPECT_EQ(route.endpoint, &DeepInfraRerankEndpoint()) << path;
    EXPECT_EQ(route.id, model) << path;
  }
}

TEST(Routes, AnIdMayHaveSlashes) {
  const auto get = [](std::string_view id) { return Share({.body = std::string(id)}); };
  const std::vector<Resource> resources = {
      {.path = "/v1/models", .get = [] { return Share({.body = "all"}); }},
      {.path = "/v1/models/{id}", .get = nullptr, .get_by_id = get}};
  const Routes routes(Endpoints(), resources, {});
  const auto content = [&](const char* target) {
    return routes.Find(PathOf(target).value()).Content()->body;
  };
  EXPECT_EQ(content("/v1/models"), "all");
  EXPECT_EQ(content("/v1/models/"), "all");
  EXPECT_EQ(content("/v1/models/name"), "name");
  EXPECT_EQ(content("/v1/models/org/name"), "org/name");
  EXPECT_EQ(content("/v1/models/org%2Fname?x=1"), "org/name");
  EXPECT_EQ(content("/v1/v1/models/org/name"), "org/name");
  EXPECT_EQ(content("/v1/models//org//name"), "/org//name");
  EXPECT_EQ(content("/v1/models/v1"), "v1");
  EXPECT_THAT(routes.NotFound("/x", {}).message, HasSubstr("GET /v1/models/{id}"));
}

TEST(Routes, NamesTheUrlThatIsProbablyMeant) {
  const std::vector<Resource> resources = {{"/health", [] { return Share({}); }}};
  const Routes routes(Endpoints(), resources, {});
  const auto meant = [&](const char* path) {
    const std::string message = routes.NotFound(path, {}).message;
    const std::size_t begin = message.find("Did you mean ");
    return begin == std::string::npos
               ? ""
               : message.substr(begin + 13, message.find('?', begin) - begin - 13);
  };
  EXPECT_EQ(meant("/v1/reranks"), "/v1/rerank");
  EXPECT_EQ(meant("/api/v1/rerank"), "/v1/rerank");
  EXPECT_EQ(meant("/v1/embedding"), "/v1/embeddings");
  EXPECT_EQ(meant("/v1/chat/completion"), "/v1/chat/completions");
  EXPECT_EQ(meant("/v1/health"), "/health");
  EXPECT_EQ(meant("/v1/inference/v1/rerank"), "/inference/v1/rerank");
  EXPECT_EQ(meant("/inference/v1/chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(meant("/inference/v1/completions"), "/v1/completions");
  EXPECT_EQ(meant("/inference/v1/embeddings"), "/v1/embeddings");
  EXPECT_EQ(meant("/v1"), "");
  EXPECT_EQ(meant("/images"), "");
}

}  // namespace http_parts_test
}  // namespace scorecast::coordinator
