// The page as a browser gets it. tests/clients/page_test.py tests what it does there.

#include "coordinator/page/page.h"

#include <optional>
#include <regex>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/access/api_key.h"
#include "coordinator/status/health.h"
#include "coordinator/text/files/base64.h"
#include "tests/coordinator/access/keys_file.h"
#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace page_test {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

HttpOptions WithPage() {
  HttpOptions options;
  options.web.resources = {PageResource()};
  options.web.root_url = "/v1/score";
  return options;
}

/// What the page has in an element without attributes.
std::string Inside(const std::string& element, const std::string& page) {
  const std::string open = "<" + element + ">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</" + element + ">", begin) - begin);
}

/// The digest of the text that a directive of the policy allows, in hexadecimal.
std::string Allowed(const std::string& directive, const std::string& policy) {
  std::smatch match;
  if (!std::regex_search(policy, match, std::regex(directive + " 'sha256-([^']*)'(;|$)"))) {
    return "none";
  }
  constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : DecodeBase64(match[1].str()).value_or("")) {
    const auto value = static_cast<unsigned char>(byte);
    hex += {kDigits[value / 16], kDigits[value % 16]};
  }
  return hex;
}

TEST(Page, IsOneDocumentWhosePolicyAllowsItsOwnScriptAndStyleOnly) {
  const FakeHttpServer server({}, WithPage());
  const HttpReply reply = server.Call(Get("/"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Field("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(reply.Field("x-content-type-options"), "nosniff");
  EXPECT_EQ(reply.Field("referrer-policy"), "no-referrer");
  const std::string policy = reply.Field("content-security-policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; "));
  EXPECT_THAT(policy, HasSubstr("; connect-src 'self'; "));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  const std::string style = Inside("style", reply.body);
  const std::string script = Inside("script", reply.body);
  EXPECT_GT(style.size(), 1000U);
  EXPECT_GT(script.size(), 1000U);
  EXPECT_EQ(Allowed("style-src", policy), KeyDigest::Of(style).ToHex());
  EXPECT_EQ(Allowed("script-src", policy), KeyDigest::Of(script).ToHex());
}

TEST(Page, HasNothingFromOutside) {
  const std::string page = PageResource().get()->body;
  const std::regex absolute(R"(\w+://[^'" ]*)");
  std::set<std::string> urls;
  for (std::sregex_iterator at(page.begin(), page.end(), absolute), end; at != end; ++at) {
    urls.insert(at->str());
  }
  EXPECT_EQ(urls, std::set<std::string>{"http://www.w3.org/2000/svg"}) << "a name, not a place";
  EXPECT_FALSE(std::regex_search(page, std::regex(R"((src|href)="/)")));
}

TEST(Page, NeedsNoKeyAndIsReadWhileTheServiceDrains) {
  const KeysFile file(KeysFile::Alice());
  SocketOptions socket;
  socket.keys = file.Read();
  FakeHttpServer server(socket, WithPage());
  EXPECT_EQ(server.Call(Get("/")).status, 200);
  EXPECT_EQ(server.Call(Post("/", ScoreBody(1).dump())).status, 401);
  EXPECT_EQ(server.Call(Get("/v1/score")).status, 401);
  HttpClient client = server.Connect();
  EXPECT_EQ(client.Call(Get("/")).status, 200);
  server.service().StartDraining();
  EXPECT_EQ(client.Call(Get("/")).status, 200);
}

TEST(Page, SharesItsUrlWithAnEndpoint) {
  const FakeHttpServer server({}, WithPage());
  EXPECT_EQ(server.Call(Post("/", ScoreBody(1).dump())).status, 200);
  EXPECT_EQ(server.Call(Get("/")).status, 200);
  EXPECT_EQ(server.Call("OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n").Field("allow"),
            "GET, HEAD, POST, OPTIONS");
}

TEST(Page, HasTheSameFieldsWhenItIsCompressed) {
  HttpOptions options = WithPage();
  options.web.compress_from = 1000;
  const FakeHttpServer server({}, options);
  const HttpReply plain = server.Call(Get("/"));
  const HttpReply compressed = server.Call(Get("/", "Accept-Encoding: gzip\r\n"));
  EXPECT_EQ(compressed.Field("content-encoding"), "gzip");
  EXPECT_LT(compressed.body.size(), plain.body.size() / 2);
  EXPECT_EQ(compressed.Field("content-security-policy"), plain.Field("content-security-policy"));
}

TEST(Page, IsNotSentToAClientThatHasItAlready) {
  const FakeHttpServer server({}, WithPage());
  const HttpReply whole = server.Call(Get("/"));
  const std::string tag = whole.Field("etag");
  EXPECT_THAT(tag, MatchesRegex("\"[^\"]+\"")) << "a strong one";
  EXPECT_EQ(whole.Field("cache-control"), "no-cache");
  HttpClient client = server.Connect();
  for (const std::string method : {"GET", "HEAD"}) {
    client.Send(method + " / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"x\", " + tag +
                "\r\n\r\n");
    const HttpReply reply = client.Receive(method == "HEAD");
    EXPECT_EQ(reply.status, 304);
    EXPECT_EQ(reply.body, "");
    EXPECT_EQ(reply.Field("content-length"), "");
    for (const char* const name : {"etag", "cache-control", "content-security-policy"}) {
      EXPECT_EQ(reply.Field(name), whole.Field(name)) << name;
    }
    client.Send(method + " / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"x\"\r\n\r\n");
    const HttpReply other = client.Receive(method == "HEAD");
    EXPECT_EQ(other.status, 200);
    EXPECT_EQ(other.Field("etag"), tag);
    EXPECT_EQ(other.Field("content-length"), std::to_string(whole.body.size()));
  }
}

TEST(Page, HasATagOfItsOwnWhenItIsCompressed) {
  HttpOptions options = WithPage();
  options.web.compress_from = 1000;
  const FakeHttpServer server({}, options);
  const std::string accept = "Accept-Encoding: gzip\r\n";
  const std::string plain = server.Call(Get("/")).Field("etag");
  const std::string compressed = server.Call(Get("/", accept)).Field("etag");
  EXPECT_NE(plain, compressed);
  const HttpReply kept = server.Call(Get("/", accept + "If-None-Match: " + compressed + "\r\n"));
  EXPECT_EQ(kept.status, 304);
  EXPECT_EQ(kept.Field("etag"), compressed);
  EXPECT_EQ(kept.Field("vary"), "Accept-Encoding");
  EXPECT_EQ(server.Call(Get("/", accept + "If-None-Match: " + plain + "\r\n")).status, 200);
  EXPECT_EQ(server.Call(Get("/", "If-None-Match: " + compressed + "\r\n")).status, 200);
}

TEST(Page, OtherResourcesHaveNoTag) {
  HttpOptions options = WithPage();
  options.web.resources.push_back(HealthResource());
  const FakeHttpServer server({}, options);
  const HttpReply reply = server.Call(Get("/health", "If-None-Match: *\r\n"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Field("etag"), "");
}

}  // namespace page_test
}  // namespace scorecast::coordinator
