// Who is let in over HTTP when the server needs keys: the table of docs/keys.md.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/status/health.h"
#include "tests/coordinator/access/keys_file.h"
#include "tests/coordinator/transports/ended_clients.h"
#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_keys_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Bearer(const std::string& key) { return "Authorization: Bearer " + key + "\r\n"; }

Resource Named(const std::string& path, bool is_open) {
  return {path, [path] { return Share({.body = "\"" + path + "\""}); }, "A resource.",
          /*is_state=*/false, is_open};
}

class HttpKeys : public ::testing::Test {
 protected:
  static SocketOptions OptionsWith(std::shared_ptr<ApiKeys> keys) {
    SocketOptions options;
    options.keys = std::move(keys);
    return options;
  }
  static HttpOptions Resources() {
    HttpOptions options;
    options.web.resources = {HealthResource(), PingResource(), Named("/metrics", false),
                             Named("/open", true)};
    return options;
  }

  int StatusOf(const std::string& request) const { return server_.Call(request).status; }
  /// The status of a good request with these fields.
  int ScoreWith(const std::string& fields) const { return StatusOf(ScorePost(1, fields)); }

  const KeysFile file_{KeysFile::Alice() + KeysFile::Bob()};
  const std::shared_ptr<ApiKeys> keys_ = file_.Read();
  EndedClients ended_;
  FakeHttpServer server_{OptionsWith(keys_), Resources(), {}, &ended_};
};

TEST_F(HttpKeys, ARightKeyIsLetInWhereverClientsHaveIt) {
  for (const std::string& fields : std::vector<std::string>{
           Bearer(kAlice), "authorization: bearer " + std::string(kAlice) + "\r\n",
           "x-api-key: " + std::string(kAlice) + "\r\n", "Api-Key: " + std::string(kAlice) + "\r\n",
           Bearer("") + "x-api-key: " + kAlice + "\r\n",
           Bearer("placeholder") + "api-key: " + kAlice + "\r\n"}) {
    EXPECT_EQ(ScoreWith(fields), 200) << fields;
  }
  EXPECT_EQ(StatusOf(Get("/metrics", Bearer(kBob))), 200);
}

TEST_F(HttpKeys, AWrongOneAndNoneAreNot) {
  for (const std::string& fields : std::vector<std::string>{
           "", Bearer(""), "Authorization: Bearer\r\n", Bearer("wrong"),
           Bearer(std::string(kAlice) + "x"), "Authorization: " + std::string(kAlice) + "\r\n",
           "Authorization: Basic " + std::string(kAlice) + "\r\n", "x-api-key: \r\n",
           "Cookie: api-key=" + std::string(kAlice) + "\r\n"}) {
    const HttpReply reply = server_.Call(ScorePost(1, fields));
    EXPECT_EQ(reply.status, 401) << fields;
    EXPECT_EQ(reply.Reason(), "unauthorized");
    EXPECT_EQ(reply.Field("www-authenticate"), "Bearer realm=\"scorecast\"");
  }
  EXPECT_EQ(ScoreWith("Expect: 100-continue\r\n"), 401) << "before the body is sent";
}

TEST_F(HttpKeys, OnlyTheStateOfTheServiceNeedsNone) {
  EXPECT_EQ(StatusOf(Get("/health")), 200);
  EXPECT_EQ(StatusOf(Get("/ping")), 200);
  EXPECT_EQ(StatusOf(Get("/open")), 200);
  EXPECT_EQ(StatusOf(Get("/metrics")), 401);
  EXPECT_EQ(StatusOf(Get("/unknown")), 401) << "it does not tell what there is";
  EXPECT_EQ(StatusOf(Post("/health", "{}")), 401);
  EXPECT_EQ(StatusOf("OPTIONS /v1/score HTTP/1.1\r\nHost: localhost\r\n\r\n"), 204)
      << "browsers ask without a key whether they may send one";
  EXPECT_EQ(StatusOf("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"), 204);
  EXPECT_EQ(StatusOf("OPTIONS /unknown HTTP/1.1\r\nHost: localhost\r\n\r\n"), 401);
}

TEST_F(HttpKeys, BodiesThatNoEndpointTakesAreNotHeld) {
  constexpr std::size_t kBytes = std::size_t{256} << 10;
  for (const std::string line :
       {"GET /health", "OPTIONS /health", "OPTIONS /v1/score", "POST /v1/score"}) {
    HttpClient client = server_.Connect();
    client.Send(line + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(kBytes) +
                "\r\n\r\n" + std::string(kBytes - 1, ' '));
    usleep(50'000);  // All of it is read.
    EXPECT_LE(server_.server().status().held_request_bytes, std::int64_t{128} << 10) << line;
    client.Send(" ");
    EXPECT_NE(client.Receive().status, 0) << line;
  }
}

TEST_F(HttpKeys, ErrorsHaveTheFormOfTheEndpoint) {
  const auto error = [&](const std::string& url) { return server_.Call(Post(url, "{}")).Json(); };
  EXPECT_EQ(error("/v1/score").at("reason"), "unauthorized");
  EXPECT_EQ(error("/v1/completions").at("error").at("code"), "unauthorized");
  EXPECT_EQ(error("/v1/chat/completions").at("error").at("param"), "Authorization");
  EXPECT_EQ(error("/v1/systemone").at("detail").at("error_type"), "unauthorized");
  EXPECT_THAT(error("/predict").at("error"), HasSubstr("API key"));
  EXPECT_THAT(error("/v1/rerank").at("detail"), HasSubstr("API key"));
  EXPECT_THAT(error("/v2/embed").at("message"), HasSubstr("API key"));
}

TEST_F(HttpKeys, AStrangerIsToldThatAKeyIsMissingAndNothingElse) {
  const HttpReply reply = server_.Call(
      "POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n");
  EXPECT_EQ(reply.status, 401);
}

TEST_F(HttpKeys, AKeyNamesTheClientOfEachRequest) {
  HttpClient client = server_.Connect();
  client.Call(ScorePost(1, Bearer(kAlice)));
  client.Call(ScorePost(2, Bearer(kBob)));
  client.Call(ScorePost(3, Bearer("wrong")));
  client.Call(ScorePost(4, Bearer(kAlice)));
  client.Call("GET / HTTP/1.1\r\nbad field\r\n\r\n");
  EXPECT_THAT(ended_.Take(), ElementsAre("alice 200", "bob 200", " 401", "alice 200", " 400"));
}

TEST_F(HttpKeys, AnEditedFileRevokesAKeyOfAnOpenConnection) {
  HttpClient client = server_.Connect();
  EXPECT_EQ(client.Call(ScorePost(1, Bearer(kAlice))).status, 200);
  file_.Write(KeysFile::Bob());
  ASSERT_TRUE(keys_->Reload());
  EXPECT_EQ(client.Call(ScorePost(2, Bearer(kAlice))).status, 401);
  EXPECT_EQ(client.Call(ScorePost(3, Bearer(kBob))).status, 200);
}

TEST_F(HttpKeys, AKeyThatIsRevokedWhileARequestArrivesIsNotServed) {
  HttpClient client = server_.Connect();
  const std::string request = ScorePost(1, Bearer(kAlice));
  client.Send(request.substr(0, request.size() - 1));
  ASSERT_TRUE(Eventually([&] { return server_.server().status().held_request_bytes > 0; }));
  usleep(50'000);  // The header is read.
  file_.Write(KeysFile::Bob());
  ASSERT_TRUE(keys_->Reload());
  client.Send(request.substr(request.size() - 1));
  EXPECT_EQ(client.Receive().status, 401);
}

TEST_F(HttpKeys, LimitsAreRefusedWithTheirCodes) {
  file_.Write(KeysFile::Alice("requests_per_minute: 2") + "bob " + kBob + " models: another\n");
  ASSERT_TRUE(keys_->Reload());
  EXPECT_EQ(StatusOf(Get("/metrics", Bearer(kAlice))), 200) << "no request to an endpoint";
  EXPECT_EQ(StatusOf(Post("/v1/unknown", "{}", Bearer(kAlice))), 404) << "nor is this";
  EXPECT_EQ(ScoreWith(Bearer(kAlice)), 200);
  EXPECT_EQ(StatusOf(Post("/v1/score", "no JSON", Bearer(kAlice))), 400) << "which counts";
  const HttpReply refused = server_.Call(ScorePost(1, Bearer(kAlice)));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.Reason(), "rate_limit_exceeded");
  EXPECT_GT(std::stoi(refused.Field("retry-after")), 50);
  const HttpReply forbidden = server_.Call(ScorePost(1, Bearer(kBob)));
  EXPECT_EQ(forbidden.status, 403);
  EXPECT_EQ(forbidden.Reason(), "model_not_allowed");
}

TEST(HttpWithoutKeys, EverybodyIsLetIn) {
  FakeHttpServer server;
  EXPECT_EQ(server.Call(ScorePost(1)).status, 200);
  EXPECT_EQ(server.Call(ScorePost(1, Bearer("any"))).status, 200);
}

}  // namespace http_keys_test
}  // namespace scorecast::coordinator
