// Pages of other origins.

#include <string>

#include <gtest/gtest.h>

#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_cors_test {

const std::string kOrigin = "Origin: https://a.example\r\n";
const std::string kPreflight =
    "OPTIONS /v1/score HTTP/1.1\r\nHost: h\r\n" + kOrigin +
    "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n\r\n";

TEST(HttpCors, IsOffByDefault) {
  const FakeHttpServer server;
  HttpClient client = server.Connect();
  EXPECT_EQ(client.Call(ScorePost(1, kOrigin)).Field("Access-Control-Allow-Origin"), "");
  EXPECT_EQ(client.Call(kPreflight).Field("Access-Control-Allow-Methods"), "");
}

TEST(HttpCors, LetsThePagesOfGivenOriginsRead) {
  for (const std::string allowed : {"https://a.example", "*"}) {
    HttpOptions options;
    options.cors_origins = {"https://b.example", allowed};
    const FakeHttpServer server({}, options);
    HttpClient client = server.Connect();
    const HttpReply preflight = client.Call(kPreflight);
    EXPECT_EQ(preflight.status, 204);
    EXPECT_EQ(preflight.Field("Access-Control-Allow-Origin"), "https://a.example");
    EXPECT_EQ(preflight.Field("Access-Control-Allow-Methods"), "POST, OPTIONS");
    EXPECT_EQ(preflight.Field("Access-Control-Allow-Headers"), "content-type");
    for (const std::string& request :
         {ScorePost(1, kOrigin), Post("/v1/score", "{}", kOrigin), Get("/nothing", kOrigin)}) {
      EXPECT_EQ(client.Call(request).Field("Access-Control-Allow-Origin"), "https://a.example");
    }
    EXPECT_EQ(client.Call(ScorePost(1)).Field("Access-Control-Allow-Origin"), "");
  }
}

TEST(HttpCors, DoesNotLetOthersRead) {
  HttpOptions options;
  options.cors_origins = {"https://b.example"};
  const FakeHttpServer server({}, options);
  EXPECT_EQ(server.Call(kPreflight).Field("Access-Control-Allow-Origin"), "");
  EXPECT_EQ(server.Call(ScorePost(1, kOrigin)).Field("Access-Control-Allow-Origin"), "");
}

}  // namespace http_cors_test
}  // namespace scorecast::coordinator
