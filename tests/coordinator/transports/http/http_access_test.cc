// Which hosts and origins a request may name.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/transports/http/access.h"
#include "coordinator/transports/http/authority.h"
#include "coordinator/transports/web/request_path.h"
#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_access_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(HttpAuthority, IsAHostAndAPort) {
  const auto parsed = [](const std::string& text) {
    const auto authority = ParseAuthority(text);
    return !authority ? "none"
                      : authority->host + (authority->port ? " " + std::to_string(*authority->port)
                                                           : std::string());
  };
  EXPECT_EQ(parsed("localhost"), "localhost");
  EXPECT_EQ(parsed("LocalHost.:7480"), "localhost 7480");
  EXPECT_EQ(parsed("a_b-1.Example.org:"), "a_b-1.example.org");
  EXPECT_EQ(parsed("127.0.0.1:80"), "127.0.0.1 80");
  EXPECT_EQ(parsed("[::1]:7480"), "::1 7480");
  EXPECT_EQ(parsed("[0:0::1]"), "::1");
  EXPECT_EQ(parsed("[::FFFF:127.0.0.1]:1"), "127.0.0.1 1");
  for (const std::string bad : {"",       ".",        ":80",         "::1",
                                "::1:80", "[::1",     "[::1]x",      "[::1]:x",
                                "[]",     "[a]",      "[127.0.0.1]", "a b",
                                "a:b",    "a:80:80",  "a:-1",        "a:65536",
                                "a..b",   ".a",       "a/b",         "user@127.0.0.1",
                                "a,b",    "http://a", "\xc3\xa4.de", "a\\b",
                                "*"}) {
    EXPECT_EQ(parsed(bad), "none") << bad;
  }
}

TEST(HttpAuthority, OfLoopbackIsNoNameThatOthersCanHave) {
  const auto is_loopback = [](const std::string& text) {
    return IsLoopbackHost(HostOf(text).value_or(""));
  };
  for (const std::string host : {"localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.255.0.9",
                                 "[::1]", "::1", "[::ffff:127.0.0.1]", "127.0.0.1."}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const std::string host :
       {"localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost", "128.0.0.1", "0.0.0.0",
        "[::]", "[::2]", "[::ffff:10.0.0.1]", "10.0.0.1", "127.0.0.1evil", "127.0.0.01"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(HttpAuthority, OfATargetIsWhatStandsBeforeThePath) {
  EXPECT_EQ(AuthorityOf("http://host:80/v1/score?x"), "host:80");
  EXPECT_EQ(AuthorityOf("HTTPS://host"), "host");
  EXPECT_EQ(AuthorityOf("http://a@host#/"), "a@host");
  EXPECT_EQ(AuthorityOf("http:///v1"), "");
  EXPECT_EQ(AuthorityOf("/http://host/"), "");
  EXPECT_EQ(AuthorityOf("*"), "");
}

TEST(HttpAuthority, HasAnOriginOfTheSameHostAndPort) {
  const auto is_own = [](const std::string& host, const std::string& origin) {
    return IsOriginOf(*ParseAuthority(host), origin);
  };
  EXPECT_TRUE(is_own("a:7480", "http://a:7480"));
  EXPECT_TRUE(is_own("A.", "https://a"));
  EXPECT_TRUE(is_own("a:80", "http://a"));
  EXPECT_TRUE(is_own("a:443", "https://A")) << "behind a proxy that ends TLS";
  EXPECT_TRUE(is_own("a", "http://a:80"));
  EXPECT_TRUE(is_own("a:8443", "https://a:8443"));
  EXPECT_TRUE(is_own("[::1]:7480", "http://[::1]:7480"));
  for (const std::string other :
       {"http://a:7481", "http://a", "http://b:7480", "null", "", "a:7480", "ftp://a:7480",
        "http://a:7480/", "http://a:7480 http://b", "http://a:7480, http://a:7480", "http://"}) {
    EXPECT_FALSE(is_own("a:7480", other)) << other;
  }
  EXPECT_FALSE(is_own("a:80", "https://a"));
}

TEST(HttpAccess, ANameThatMayBeAllowedIsAHost) {
  for (const std::string good : {"*", "score.example.org", "a", "10.0.0.7", "::1", "[fe80::1]"}) {
    EXPECT_EQ(AllowedHostFault(good), "");
  }
  for (const std::string bad : {"", "https://a", "a:80", "[::1]:80", "*.a", ".a", "a/", "a b"}) {
    EXPECT_THAT(AllowedHostFault(bad), HasSubstr('"' + bad + '"'));
  }
}

std::string GetOf(const std::string& host, const std::string& fields = {}) {
  return "GET /state HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
}

HttpOptions AccessOptions(bool is_on_loopback) {
  HttpOptions options;
  options.web.resources = {{"/state", [] { return Share({200, "text/plain", "a secret"}); }}};
  options.is_on_loopback = is_on_loopback;
  return options;
}

TEST(HttpAccess, ALoopbackListenerHasTheHostsOfLoopback) {
  const FakeHttpServer server({}, AccessOptions(true));
  HttpClient client = server.Connect();
  const std::string port = ":" + std::to_string(server.port());
  for (const std::string host :
       {"localhost", "127.0.0.1", "127.1.2.3", "[::1]", "Localhost.", "[::ffff:127.0.0.1]"}) {
    EXPECT_EQ(client.Call(GetOf(host + port)).status, 200) << host;
    EXPECT_EQ(client.Call(GetOf(host)).status, 200) << host;
  }
  for (const std::string host : {"evil.example", "localhost.evil.example", "10.0.0.1", "[::2]",
                                 "a@localhost", "127.0.0.1:x", "0.0.0.0"}) {
    const HttpReply reply = client.Call(GetOf(host));
    EXPECT_EQ(reply.status, 403) << host;
    EXPECT_EQ(reply.Reason(), "host_not_allowed");
    EXPECT_EQ(reply.Json()["param"], "Host");
    EXPECT_THAT(reply.Json()["message"].get<std::string>(),
                AllOf(HasSubstr('"' + host + '"'), HasSubstr("--allowed-host")));
  }
  // Every URL has the check, and every method.
  const std::string evil = " HTTP/1.1\r\nHost: evil.example" + port + "\r\n";
  EXPECT_EQ(client.Call("GET /nothing" + evil + "\r\n").status, 403);
  EXPECT_EQ(client.Call("OPTIONS *" + evil + "\r\n").status, 403);
  EXPECT_EQ(client.Call("POST /v1/score" + evil + "Content-Length: 2\r\n\r\n{}").status, 403);
  // The page of the name that was rebound has the Origin of that name.
  EXPECT_EQ(
      client.Call("GET /state" + evil + "Origin: http://evil.example" + port + "\r\n\r\n").status,
      403);
  EXPECT_EQ(client.Call(GetOf("localhost")).body, "a secret") << "on the same connection";
  EXPECT_EQ(server.Call(ScorePost(1)).status, 200);
}

TEST(HttpAccess, AHostThatIsAllowedIsServedOnLoopback) {
  HttpOptions options = AccessOptions(true);
  options.allowed_hosts = {"Score.Example.org", "[fe80::1]", "10.0.0.7"};
  const FakeHttpServer server({}, options);
  HttpClient client = server.Connect();
  for (const std::string host :
       {"score.example.org", "SCORE.example.org.:8443", "[FE80::0:1]:1", "10.0.0.7", "localhost"}) {
    EXPECT_EQ(client.Call(GetOf(host)).status, 200) << host;
  }
  for (const std::string host : {"example.org", "a.score.example.org", "10.0.0.8"}) {
    EXPECT_EQ(client.Call(GetOf(host)).status, 403) << host;
  }
  options.allowed_hosts = {"*"};
  EXPECT_EQ(FakeHttpServer({}, options).Call(GetOf("any.example")).status, 200);
}

TEST(HttpAccess, ARequestWithoutAHostComesFromNoPage) {
  const FakeHttpServer server({}, AccessOptions(true));
  EXPECT_EQ(server.Call("GET /state HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_EQ(server.Call(GetOf("")).status, 200);
  EXPECT_EQ(server.Call("GET /state HTTP/1.0\r\nHost: evil.example\r\n\r\n").status, 403);
  EXPECT_EQ(server.Call("GET /state HTTP/1.1\r\n\r\n").status, 400);
  EXPECT_EQ(server.Call("GET /state HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n").status,
            400);
}

TEST(HttpAccess, TheHostOfTheTargetCountsInsteadOfTheField) {
  const FakeHttpServer server({}, AccessOptions(true));
  HttpClient client = server.Connect();
  const auto status = [&](const std::string& target, const std::string& host) {
    return client.Call("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status;
  };
  EXPECT_EQ(status("http://localhost:1/state", "evil.example"), 200);
  EXPECT_EQ(status("http://evil.example/state", "localhost"), 403);
  EXPECT_EQ(status("http://localhost@evil.example/state", "localhost"), 403);
  EXPECT_EQ(status("http:///state", "evil.example"), 403);
}

TEST(HttpAccess, OtherListenersHaveAnyHost) {
  const FakeHttpServer server({}, AccessOptions(false));
  HttpClient client = server.Connect();
  for (const std::string host : {"10.0.0.1:7480", "[2001:db8::1]", "score.example.org", "a_b:x"}) {
    EXPECT_EQ(client.Call(GetOf(host)).status, 200) << host;
  }
}

TEST(HttpAccess, PagesOfOtherOriginsAreRefusedOnEveryListener) {
  for (const bool is_on_loopback : {false, true}) {
    FakeHttpServer server({}, AccessOptions(is_on_loopback));
    HttpClient client = server.Connect();
    for (const std::string origin : {"https://evil.example", "null", "http://localhost:3000",
                                     "http://localhost.evil.example", "https://localhost:80"}) {
      const std::string field = "Origin: " + origin + "\r\n";
      // A Blob without a type: the browser asks nobody whether the page may send it.
      const HttpReply reply = client.Call(ScorePost(1, field));
      EXPECT_EQ(reply.status, 403) << origin;
      EXPECT_EQ(reply.Reason(), "origin_not_allowed");
      EXPECT_EQ(reply.Json()["param"], "Origin");
      EXPECT_THAT(reply.Json()["message"].get<std::string>(),
                  AllOf(HasSubstr('"' + origin + '"'), HasSubstr("--cors-origin " + origin)));
      EXPECT_EQ(reply.Field("Access-Control-Allow-Origin"), "");
      EXPECT_EQ(client.Call(GetOf("localhost", field)).status, 403);
    }
    EXPECT_EQ(client.Call(ScorePost(1, "Origin: http://localhost\r\nOrigin: null\r\n")).status,
              403);
    EXPECT_EQ(server.cluster().plans().size(), 0U) << "nothing was computed";
    EXPECT_EQ(client.Call(ScorePost(1, "Origin: http://localhost\r\n")).status, 200);
    EXPECT_EQ(client.Call(GetOf("localhost:8443", "Origin: https://localhost:8443\r\n")).status,
              200);
    EXPECT_EQ(server.Call("GET /state HTTP/1.0\r\nOrigin: http://localhost\r\n\r\n").status, 403);
  }
}

TEST(HttpAccess, TheBrowserKnowsThatAPageIsTheHostsOwn) {
  // A proxy has sent its upstream's address as Host.
  const FakeHttpServer server({}, AccessOptions(true));
  HttpClient client = server.Connect();
  const std::string origin = "Origin: https://score.example.org\r\n";
  EXPECT_EQ(client.Call(ScorePost(1, origin + "Sec-Fetch-Site: same-origin\r\n")).status, 200);
  for (const std::string site : {"same-site", "cross-site", "none", ""}) {
    EXPECT_EQ(client.Call(ScorePost(1, origin + "Sec-Fetch-Site: " + site + "\r\n")).status, 403)
        << site;
  }
}

TEST(HttpAccess, AnAllowedOriginStillNeedsAnAllowedHost) {
  HttpOptions options = AccessOptions(true);
  options.cors_origins = {"*"};
  const FakeHttpServer server({}, options);
  HttpClient client = server.Connect();
  EXPECT_EQ(client.Call(GetOf("localhost", "Origin: null\r\n")).status, 200);
  EXPECT_EQ(client.Call(GetOf("evil.example", "Origin: null\r\n")).Reason(), "host_not_allowed");
}

TEST(HttpAccess, ErrorsAreInTheDialectOfTheEndpoint) {
  const FakeHttpServer server({}, AccessOptions(true));
  const std::string evil = "HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}";
  EXPECT_EQ(server.Call("POST /v1/rerank " + evil).Json()["error_type"], "validation");
  EXPECT_FALSE(server.Call("POST /v1/score " + evil).Json().contains("error_type"));
}

}  // namespace http_access_test
}  // namespace scorecast::coordinator
