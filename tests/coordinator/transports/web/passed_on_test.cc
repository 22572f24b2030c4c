// HTTP requests that a front passes on over the request socket get the replies that they get over
// HTTP.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/resources/resource.h"
#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/socket/frame_protocol.h"
#include "coordinator/transports/web/inflate.h"
#include "launcher/client/client.h"
#include "proto/base/letter_case.h"
#include "tests/coordinator/access/keys_file.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/rerank/test_reranker.h"
#include "tests/coordinator/fake_tokenizer.h"
#include "tests/coordinator/transports/ended_clients.h"
#include "tests/coordinator/transports/http/fake_http_server.h"
#include "tests/coordinator/transports/web/compressed.h"

namespace scorecast::coordinator {
namespace passed_on_test {

using launcher::Client;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

constexpr char kFrontKey[] = "sk-front-0123456789";
constexpr std::uint64_t kId = 7;
constexpr std::int64_t kMaxRequestBytes = 200'000;

/// A POST of JSON.
v1::HttpRequest PostOf(const std::string& path, std::string body) {
  v1::HttpRequest request;
  request.set_method("POST");
  request.set_path(path);
  request.set_content_type("application/json");
  request.set_body(std::move(body));
  return request;
}

v1::HttpRequest WithMethod(const std::string& method, const std::string& path) {
  v1::HttpRequest request;
  request.set_method(method);
  request.set_path(path);
  return request;
}

v1::Request Framed(const v1::HttpRequest& http) {
  v1::Request request;
  request.set_request_id(kId);
  *request.mutable_http() = http;
  request.mutable_forwarded()->set_client("192.0.2.7");
  return request;
}

/// The same request as HTTP/1.1.
std::string BytesOf(const v1::HttpRequest& request) {
  std::string bytes = request.method() + " " + request.path() + " HTTP/1.1\r\nHost: localhost\r\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) {
      bytes += name + ": " + value + "\r\n";
    }
  };
  add("Content-Type", request.content_type());
  add("Content-Encoding", request.content_encoding());
  add("Accept-Encoding", request.accept_encoding());
  add("X-Pinecone-Api-Version", request.path_prefix() == "/pinecone" ? "2025-04" : "");
  if (request.method() == "POST") {
    add("Content-Length", std::to_string(request.body().size()));
  }
  return bytes + "\r\n" + request.body();
}

/// A body without what differs from one time to the next.
std::string Steady(const std::string& body) {
  static const std::regex varying(
      R"re("timings":\{[^}]*\}|"(id|x_request_id)":"[^"]*"|"created":\d+|"cached_tokens":\d+|"[a-z_]*(time|_ms)":[0-9.e-]+)re");
  return std::regex_replace(body, varying, "");
}

using Fields = std::map<std::string, std::string>;

/// Without the ids that are new each time.
Fields WithoutIds(Fields fields) {
  std::erase_if(fields, [](const auto& field) { return field.second.starts_with("req_"); });
  return fields;
}

/// The fields of a reply over HTTP that a front is told.
Fields Passed(Fields fields) {
  for (const char* name :
       {"date", "server", "connection", "content-length", "transfer-encoding", "x-request-id"}) {
    fields.erase(name);
  }
  return WithoutIds(std::move(fields));
}

ServerOptions WithReranker() {
  static const FakeTokenizer tokenizer({}, /*bos=*/259);
  ServerOptions options = FakeServer::MultiItem();
  options.reranker = MakeReranker(R"(
    prompt: "Q:{query} D-{document}?"
    true: 11
    false: 22
    score: sigmoid(true - false)
    )",
                                  tokenizer, {11, 22});
  return options;
}

class PassedOn : public ::testing::Test {
 protected:
  explicit PassedOn(SocketOptions options = {.max_request_bytes = kMaxRequestBytes})
      : server_(WithKeys(std::move(options), front_keys_), {.web = Web()}, {}, &ended_,
                WithReranker()) {
    hello_.mutable_hello()->set_front_key(kFrontKey);
    hello_.mutable_hello()->set_status_interval_ms(60'000);
    EXPECT_TRUE(front_->Call(hello_).hello().trusted());
    EXPECT_TRUE(front_->Receive().has_status());
  }

  static SocketOptions WithKeys(SocketOptions options, std::shared_ptr<ApiKeys> front_keys) {
    options.front_keys = std::move(front_keys);
    return options;
  }
  static WebOptions Web() {
    WebOptions web;
    web.resources = {{"/health", [] { return Share({}); }, "", /*is_state=*/true},
                     {"/v1/models",
                      [] {
                        return Share({200, "application/json", "{\"a\":1}"});
                      }},
                     {"/busy",
                      [] {
                        return Share({503, "text/plain", "busy"});
                      }},
                     {"/long", [long_content = Share({200, "text/plain", LongText()})] {
                        return long_content;
                      }}};
    web.refused_urls = {{"/v1/images", "There are no images."}};
    web.root_url = "/v1/rerank";
    web.compress_from = 500;
    return web;
  }
  static std::string LongText() {
    std::string text;
    for (int i = 0; i < 20'000; ++i) {
      text += std::to_string(i * i);
    }
    return text;
  }

  HttpReply OverHttp(const v1::HttpRequest& request) const {
    HttpClient client = server_.Connect();
    client.Send(BytesOf(request));
    return client.Receive(/*to_head=*/request.method() == "HEAD");
  }

  /// The parts of the reply that the front gets.
  std::vector<v1::Response> PartsOf(const v1::Request& request) const {
    front_->Send(request);
    std::vector<v1::Response> parts;
    do {
      parts.push_back(front_->Receive());
      EXPECT_TRUE(parts.back().has_http()) << parts.back().error().message();
      EXPECT_EQ(parts.back().request_id(), kId);
      EXPECT_EQ(parts.back().has_status(), parts.back().http().last());
      EXPECT_EQ(parts.back().http().status() != 0, parts.size() == 1);
    } while (parts.back().has_http() && !parts.back().http().last());
    return parts;
  }

  HttpReply OverFront(const v1::HttpRequest& request) const {
    HttpReply reply;
    for (const v1::Response& part : PartsOf(Framed(request))) {
      reply.status += static_cast<int>(part.http().status());
      for (const v1::HttpField& field : part.http().fields()) {
        reply.fields.emplace(proto::ToLower(field.name()), field.value());
      }
      reply.body += part.http().body();
    }
    return reply;
  }

  /// Checks that the replies are the same, and returns that of the front.
  HttpReply ExpectSame(const v1::HttpRequest& request) const {
    const std::string name =
        request.method() + " " + request.path() + " " + request.ShortDebugString().substr(0, 300);
    const HttpReply expected = OverHttp(request);
    const HttpReply reply = OverFront(request);
    EXPECT_EQ(reply.status, expected.status) << name;
    EXPECT_EQ(WithoutIds(reply.fields), Passed(expected.fields)) << name;
    EXPECT_EQ(Steady(reply.body), Steady(expected.body)) << name;
    return reply;
  }

  const KeysFile file_{std::string("front ") + kFrontKey + "\n"};
  const std::shared_ptr<ApiKeys> front_keys_ = file_.Read();
  EndedClients ended_;
  FakeHttpServer server_;
  const std::uint16_t port_ =
      server_.server().Listen(OpenListeningSocket("127.0.0.1", 0),
                              MakeFrameProtocol(server_.service().endpoints(), {}, {}, Web()));
  const std::unique_ptr<Client> front_ =
      std::make_unique<Client>("127.0.0.1:" + std::to_string(port_));
  v1::Request hello_;
};

TEST_F(PassedOn, ResponsesOfEndpointsAreTheSame) {
  EXPECT_EQ(ExpectSame(PostOf("/v1/score", ScoreBody(3).dump())).status, 200);
  const json rerank = {{"query", "q"}, {"documents", {"one", "two", "three"}}, {"top_n", 2}};
  for (const char* const path : {"/v1/rerank", "/v2/rerank", "/voyage/v1/rerank", "/"}) {
    EXPECT_EQ(ExpectSame(PostOf(path, rerank.dump())).status, 200) << path;
  }
  v1::HttpRequest pinecone = PostOf("/rerank", rerank.dump());
  const HttpReply usual = ExpectSame(pinecone);
  pinecone.set_path_prefix("/pinecone");
  EXPECT_NE(Steady(ExpectSame(pinecone).body), Steady(usual.body)) << "in another dialect";
  const json completion = {{"prompt", "a prompt"}, {"max_tokens", 3}, {"temperature", 0}};
  EXPECT_EQ(ExpectSame(PostOf("/v1/completions", completion.dump())).status, 200);
  EXPECT_EQ(ExpectSame(PostOf("/tokenize", R"({"prompt":"a prompt"})")).status, 200);
}

TEST_F(PassedOn, ErrorsAreInTheDialectOfTheUrl) {
  for (const Endpoint* const endpoint : Endpoints()) {
    for (const std::string_view url : endpoint->urls()) {
      const HttpReply reply = ExpectSame(PostOf(std::string(url), "{\"query\": oops}"));
      EXPECT_EQ(reply.status, 400) << url;
    }
  }
  EXPECT_EQ(ExpectSame(PostOf("/v1/score", R"({"query":"q","items":["i"],"labels":5})")).status,
            400);
}

TEST_F(PassedOn, UrlsMethodsAndEncodingsAreJudgedAlike) {
  EXPECT_EQ(ExpectSame(PostOf("/v1/reranks", "{}")).status, 404);
  EXPECT_EQ(ExpectSame(PostOf("/v1/images", "{}")).status, 404);
  EXPECT_EQ(ExpectSame(WithMethod("GET", "/v1/score")).fields.at("allow"), "POST, OPTIONS");
  EXPECT_EQ(ExpectSame(PostOf("/v1/models", "{}")).status, 405);
  EXPECT_EQ(ExpectSame(WithMethod("PUT", "/v1/models")).status, 405);
  EXPECT_EQ(ExpectSame(WithMethod("OPTIONS", "/v1/models")).status, 204);
  EXPECT_EQ(ExpectSame(WithMethod("OPTIONS", "*")).fields.at("allow"), "GET, HEAD, POST, OPTIONS");
  v1::HttpRequest text = PostOf("/v1/score", ScoreBody(1).dump());
  text.set_content_type("text/plain");
  EXPECT_EQ(ExpectSame(text).status, 415);
  v1::HttpRequest brotli = PostOf("/v2/rerank", ScoreBody(1).dump());
  brotli.set_content_encoding("br");
  EXPECT_EQ(ExpectSame(brotli).fields.at("accept-encoding"), "gzip, deflate, zstd");
}

TEST_F(PassedOn, ResourcesAreTheSame) {
  EXPECT_EQ(ExpectSame(WithMethod("GET", "/v1/models")).body, "{\"a\":1}");
  EXPECT_EQ(ExpectSame(WithMethod("GET", "/busy")).status, 503);
  v1::HttpRequest long_text = WithMethod("GET", "/long");
  EXPECT_EQ(ExpectSame(long_text).body, LongText());
  for (const char* const encoding : {"gzip", "zstd"}) {
    long_text.set_accept_encoding(encoding);
    EXPECT_EQ(ExpectSame(long_text).fields.at("content-encoding"), encoding);
  }
  for (const char* const path : {"/v1/models", "/long"}) {
    EXPECT_EQ(ExpectSame(WithMethod("HEAD", path)).body, "");
  }
}

TEST_F(PassedOn, EachEventOfAStreamIsAPart) {
  const v1::HttpRequest request = PostOf("/v1/chunked", StreamBody(20).dump());
  // How many deltas are merged differs from one time to the next.
  const auto text_of = [](const std::string& event) {
    return json::parse(event.substr(6)).value("text", "");
  };
  std::string text;
  const auto parts = PartsOf(Framed(request));
  ASSERT_GE(parts.size(), 2U);
  for (const v1::Response& part : parts) {
    EXPECT_THAT(part.http().body(), StartsWith("data: "));
    EXPECT_EQ(part.has_position(), !part.http().last());
    if (!part.http().last()) {
      EXPECT_EQ(part.http().body().find("\n\n"), part.http().body().size() - 2) << "one event";
      text += text_of(part.http().body());
    }
  }
  const std::string done = "data: [DONE]\n\n";
  std::string response = parts.back().http().body();
  ASSERT_THAT(response, EndsWith("}\n\n" + done)) << "a front has both or none";
  response.resize(response.size() - done.size());
  const HttpReply expected = OverHttp(request);
  EXPECT_THAT(Steady(expected.body), EndsWith(Steady(response) + done));
  EXPECT_EQ(text, json::parse(response.substr(6))["outputs"][0]["text"]);
  Fields fields;
  for (const v1::HttpField& field : parts.front().http().fields()) {
    fields.emplace(proto::ToLower(field.name()), field.value());
  }
  EXPECT_EQ(fields, Passed(expected.fields));
}

TEST_F(PassedOn, AnErrorBeforeTheFirstEventIsAnOrdinaryReply) {
  json body = StreamBody(20);
  body["max_new_tokens"] = -1;
  EXPECT_EQ(ExpectSame(PostOf("/v1/chunked", body.dump())).status, 400);
}

TEST_F(PassedOn, BodiesAreCompressedBothWays) {
  json body = ScoreBody(4);
  for (int i = 0; i < 60; ++i) {
    body["items"].push_back("item");
  }
  for (const auto& [format, encoding] : std::vector<std::pair<Format, std::string>>{
           {Format::kGzip, "gzip"}, {Format::kZlib, "deflate"}, {Format::kZstd, "zstd"}}) {
    v1::HttpRequest request = PostOf("/v1/score", Compressed(body.dump(), format));
    request.set_content_encoding(encoding);
    EXPECT_EQ(ExpectSame(request).status, 200) << encoding;
    request.set_accept_encoding("zstd");
    const HttpReply reply = OverFront(request);
    const HttpReply expected = OverHttp(request);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.fields, Passed(expected.fields));
    EXPECT_EQ(reply.fields.at("content-encoding"), "zstd");
    HeldBytes held(1'000'000);
    const auto inflate = [&](const std::string& compressed) {
      return Steady(Inflate(compressed, ContentCoding::kZstd, 1'000'000, held).value().text);
    };
    EXPECT_EQ(inflate(reply.body), inflate(expected.body));
    request.set_body(request.body().substr(0, 20));
    EXPECT_EQ(ExpectSame(request).status, 400) << encoding;
  }
}

TEST_F(PassedOn, BodiesHaveTheSameBounds) {
  const auto with_bytes = [](std::int64_t bytes) {
    return std::string(static_cast<std::size_t>(bytes), ' ') + "{";
  };
  EXPECT_EQ(ExpectSame(PostOf("/v1/score", with_bytes(kMaxRequestBytes - 1))).status, 400);
  EXPECT_EQ(ExpectSame(PostOf("/v2/rerank", with_bytes(kMaxRequestBytes))).status, 413);
  v1::HttpRequest bomb =
      PostOf("/v1/score", Compressed(with_bytes(100 * kMaxRequestBytes), Format::kGzip));
  bomb.set_content_encoding("gzip");
  EXPECT_EQ(ExpectSame(bomb).status, 413);
  json body = ScoreBody(1);
  body["query"] = std::string(150'000, 'x');
  EXPECT_EQ(ExpectSame(PostOf("/v1/score", body.dump())).status, 400) << "too many tokens";
  EXPECT_TRUE(Eventually([&] { return server_.server().status().held_request_bytes == 0; }));
}

TEST_F(PassedOn, TheBytesOfABodyCountUntilItIsTokenized) {
  server_.tokenizer().Hold();
  json body = ScoreBody(1);
  body["query"] = std::string(100'000, 'x');
  front_->Send(Framed(PostOf("/v1/score", body.dump())));
  EXPECT_TRUE(Eventually([&] { return server_.server().status().held_request_bytes >= 100'000; }));
  server_.tokenizer().Release();
  EXPECT_EQ(front_->Receive().http().status(), 400U);
  EXPECT_TRUE(Eventually([&] { return server_.server().status().held_request_bytes == 0; }));
}

/// Of a client's bodies, five have room when they are decompressed, and one more that has the turn.
class SmallRoom : public PassedOn {
 protected:
  SmallRoom()
      : PassedOn({.max_request_bytes = kMaxRequestBytes,
                  .max_held_bytes = 8'000'000,
                  .max_held_bytes_per_address = 1'000'000,
                  .long_patience = std::chrono::minutes(5)}) {}

  static v1::Request GzippedScore(std::uint64_t id, std::size_t query_bytes) {
    json body = ScoreBody(1);
    body["query"] = std::string(query_bytes, 'x');
    v1::HttpRequest http = PostOf("/v1/score", Compressed(body.dump(), Format::kGzip));
    http.set_content_encoding("gzip");
    v1::Request request = Framed(http);
    request.set_request_id(id);
    return request;
  }
  /// One whose text is too long, which is found out when it is tokenized.
  static v1::Request Large(std::uint64_t id) { return GzippedScore(id, 150'000); }
};

TEST_F(SmallRoom, WhatBodiesOfOneClientBecomeIsBounded) {
  constexpr std::uint64_t kFirst = 100;
  constexpr std::uint64_t kEnd = 170;
  server_.tokenizer().Hold();
  for (std::uint64_t id = kFirst; id < kEnd; ++id) {
    front_->Send(Large(id));
  }
  // Short and not compressed, because the threads that tokenize others are held.
  v1::Request other = Framed(PostOf("/v1/score", ScoreBody(1).dump()));
  other.set_request_id(1);
  other.mutable_forwarded()->set_client("192.0.2.8");
  const v1::Response response = front_->Call(other);
  EXPECT_EQ(response.request_id(), 1U);
  EXPECT_EQ(response.http().status(), 200U) << response.http().body();
  // Six bodies, and the tokens of the two that are tokenized; all bodies have 10.5 MB.
  EXPECT_LT(server_.server().status().held_request_bytes, 3'000'000);
  server_.tokenizer().Release();
  std::set<std::uint64_t> ids;
  for (std::uint64_t i = kFirst; i < kEnd; ++i) {
    const v1::Response reply = front_->Receive();
    ids.insert(reply.request_id());
    EXPECT_EQ(reply.http().status(), 400U) << "it got room: " << reply.http().body();
  }
  EXPECT_EQ(ids.size(), kEnd - kFirst);
  EXPECT_TRUE(Eventually([&] { return server_.server().status().held_request_bytes == 0; }));
}

TEST_F(SmallRoom, ARequestThatWaitsForRoomIsCancelled) {
  server_.tokenizer().Hold();
  for (std::uint64_t id = 1; id <= 10; ++id) {
    front_->Send(Large(id));
  }
  v1::Request cancel;
  cancel.mutable_cancel()->set_request_id(10);
  front_->Send(cancel);
  v1::Response response = front_->Receive();
  EXPECT_EQ(response.request_id(), 10U);
  EXPECT_EQ(response.error().reason(), "cancelled");
  EXPECT_EQ(front_->Receive().cancelled().requests(), 1U);
  server_.tokenizer().Release();
  std::set<std::uint64_t> ids;
  for (int i = 1; i < 10; ++i) {
    response = front_->Receive();
    EXPECT_EQ(response.http().status(), 400U);
    ids.insert(response.request_id());
  }
  EXPECT_THAT(ids, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(front_->Call(GzippedScore(11, 20)).request_id(), 11U);
}

TEST_F(SmallRoom, RequestsThatWaitForRoomEndWithTheirConnection) {
  server_.tokenizer().Hold();
  {
    Client second("127.0.0.1:" + std::to_string(port_));
    EXPECT_TRUE(second.Call(hello_).hello().trusted());
    for (std::uint64_t id = 1; id <= 10; ++id) {
      second.Send(Large(id));
    }
    EXPECT_TRUE(Eventually([&] { return server_.server().status().requests_in_flight == 10; }));
  }
  EXPECT_TRUE(Eventually([&] { return server_.server().status().requests_in_flight == 0; }));
  server_.tokenizer().Release();
  EXPECT_TRUE(Eventually([&] { return server_.server().status().held_request_bytes == 0; }));
  EXPECT_EQ(front_->Call(Large(11)).http().status(), 400U);
}

TEST_F(PassedOn, ADrainingServerSaysSo) {
  server_.service().StartDraining();
  EXPECT_EQ(ExpectSame(PostOf("/v1/score", ScoreBody(1).dump())).status, 503);
  EXPECT_EQ(ExpectSame(WithMethod("GET", "/v1/models")).status, 503);
  EXPECT_EQ(ExpectSame(WithMethod("GET", "/health")).status, 200);
}

TEST_F(PassedOn, TheyAreTheRequestsOfTheFrontsClients) {
  OverFront(PostOf("/v1/score", ScoreBody(1).dump()));
  OverFront(PostOf("/v1/score", "{"));
  OverFront(WithMethod("GET", "/v1/score"));
  v1::Request request = Framed(PostOf("/v1/score", ScoreBody(1).dump()));
  request.mutable_forwarded()->set_client("alice");
  request.mutable_forwarded()->mutable_key();
  PartsOf(request);
  EXPECT_THAT(ended_.Take(),
              ElementsAre("192.0.2.7 200", "192.0.2.7 400", "192.0.2.7 405", "alice 200"));
}

TEST_F(PassedOn, TheTimeAtTheFrontCounts) {
  v1::Request request = Framed(PostOf("/v1/score", ScoreBody(1).dump()));
  request.mutable_forwarded()->set_timeout_us(0);
  EXPECT_EQ(PartsOf(request).back().http().status(), 504U);
  request.mutable_forwarded()->clear_timeout_us();
  request.mutable_forwarded()->set_waited_us(500'000'000);
  const auto parts = PartsOf(request);
  EXPECT_GE(json::parse(parts.back().http().body())["timings"]["total_ms"], 500'000);
}

TEST_F(PassedOn, ARequestIsCancelledByItsId) {
  server_.cluster().Hold();
  front_->Send(Framed(PostOf("/v1/score", ScoreBody(1).dump())));
  ASSERT_TRUE(Eventually([&] { return !server_.cluster().plans().empty(); }));
  v1::Request cancel;
  cancel.mutable_cancel()->set_request_id(kId);
  front_->Send(cancel);
  const v1::Response error = front_->Receive();
  EXPECT_EQ(error.request_id(), kId);
  EXPECT_EQ(error.error().reason(), "cancelled");
  EXPECT_EQ(front_->Receive().cancelled().requests(), 1U);
}

TEST_F(PassedOn, OnlyAFrontMay) {
  Client client("127.0.0.1:" + std::to_string(port_));
  for (const auto& http : {PostOf("/v1/score", ScoreBody(1).dump()), WithMethod("GET", "/health"),
                           PostOf("/v1/score", std::string(100'000, ' '))}) {
    v1::Request request = Framed(http);
    request.clear_forwarded();
    const v1::Response response = client.Call(request);
    EXPECT_EQ(response.request_id(), kId);
    EXPECT_EQ(response.error().code(), 403);
    EXPECT_EQ(response.error().reason(), "not_a_front");
    EXPECT_EQ(response.error().param(), "http");
  }
  EXPECT_TRUE(client.Call(hello_).hello().trusted());
}

TEST_F(PassedOn, FaultsOfTheMessageAreTheFronts) {
  v1::Request request = Framed(WithMethod("GET", "/v1/models"));
  request.mutable_forwarded()->set_client("two words");
  v1::Response response = front_->Call(request);
  EXPECT_EQ(response.request_id(), kId);
  EXPECT_EQ(response.error().reason(), "bad_forwarded");
  file_.Write("second sk-second-0123456789\n");
  EXPECT_TRUE(front_keys_->Reload());
  response = front_->Call(Framed(WithMethod("GET", "/v1/models")));
  EXPECT_EQ(response.request_id(), kId);
  EXPECT_EQ(response.error().reason(), "unauthorized");
}

}  // namespace passed_on_test
}  // namespace scorecast::coordinator
