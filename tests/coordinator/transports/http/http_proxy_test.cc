// The client of a request that comes through a proxy, and headers that others forge.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/transports/ended_clients.h"
#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_proxy_test {

using ::testing::ElementsAre;

/// A server that trusts one address.
class HttpProxy : public ::testing::Test {
 protected:
  static SocketOptions Trusting(const std::string& proxy) {
    SocketOptions options;
    options.max_connections_per_address = 1;
    EXPECT_EQ(options.proxies.Add(proxy), "");
    return options;
  }

  std::vector<std::string> ClientsOf(HttpClient& client, const std::string& request) {
    EXPECT_EQ(client.Call(request).status, 200);
    return ended_.Take();
  }

  EndedClients ended_;
  FakeHttpServer server_{Trusting("127.0.0.2"), {}, {}, &ended_};
};

const std::string kForwarded = "X-Forwarded-For: 203.0.113.5, 192.0.2.9\r\n";

TEST_F(HttpProxy, NamesItsClients) {
  HttpClient proxy(server_.port(), "127.0.0.2");
  EXPECT_THAT(ClientsOf(proxy, ScorePost(1, kForwarded)), ElementsAre("192.0.2.9 200"));
  EXPECT_THAT(ClientsOf(proxy, ScorePost(1, "X-Forwarded-For: 192.0.2.8\r\n")),
              ElementsAre("192.0.2.8 200"))
      << "another one on the same connection";
  EXPECT_THAT(ClientsOf(proxy, ScorePost(1)), ElementsAre("127.0.0.2 200"));
}

TEST_F(HttpProxy, HasNoLimitOfConnections) {
  HttpClient first(server_.port(), "127.0.0.2");
  HttpClient second(server_.port(), "127.0.0.2");
  EXPECT_EQ(first.Call(ScorePost(1)).status, 200);
  EXPECT_EQ(second.Call(ScorePost(1)).status, 200);
}

TEST_F(HttpProxy, AForgedHeaderOfOthersIsIgnored) {
  HttpClient other(server_.port(), "127.0.0.3");
  EXPECT_THAT(ClientsOf(other, ScorePost(1, kForwarded)), ElementsAre("127.0.0.3 200"));
  other.Send("PROXY TCP4 192.0.2.9 192.0.2.1 1 2\r\n" + ScorePost(1));
  EXPECT_EQ(other.Receive().status, 505) << "it is no line of HTTP";
}

TEST_F(HttpProxy, MaySpeakThePROXYProtocol) {
  HttpClient proxy(server_.port(), "127.0.0.2");
  proxy.Send("PROXY TCP4 192.0.2.7 192.0.2.1 56324 443\r\n");
  EXPECT_THAT(ClientsOf(proxy, ScorePost(1, kForwarded)), ElementsAre("192.0.2.7 200"))
      << "the client, which is no proxy, has written the field";
  EXPECT_THAT(ClientsOf(proxy, ScorePost(1)), ElementsAre("192.0.2.7 200"));
  const std::string binary(
      "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x05\xc0\0\x02\x02\x12\x34\x01\xbb", 28);
  HttpClient second(server_.port(), "127.0.0.2");
  second.Send(binary.substr(0, 7));
  usleep(50'000);
  second.Send(binary.substr(7));
  EXPECT_THAT(ClientsOf(second, ScorePost(1)), ElementsAre("192.0.2.5 200"));
  HttpClient bad(server_.port(), "127.0.0.2");
  bad.Send("PROXY TCP4 nobody\r\n");
  EXPECT_TRUE(bad.IsClosed());
}

TEST(HttpProxyLimit, CountsSocketsBeforeTheirFirstBytes) {
  SocketOptions options;
  options.max_connections = 2;
  options.proxies.Add("127.0.0.2");
  FakeHttpServer server(options);
  HttpClient first(server.port(), "127.0.0.2");
  HttpClient second(server.port(), "127.0.0.2");
  EXPECT_EQ(HttpClient(server.port(), "127.0.0.2").Receive().status, 503);
  EXPECT_EQ(HttpClient(server.port(), "127.0.0.3").Receive().status, 503);
  EXPECT_EQ(first.Call(ScorePost(1)).status, 200);
  EXPECT_EQ(second.Call(ScorePost(2)).status, 200);
}

TEST(HttpProxyChain, EndsAtTheFirstHopThatIsNotTrusted) {
  SocketOptions options;
  options.proxies.Add("127.0.0.0/8");
  EndedClients ended;
  FakeHttpServer server(options, {}, {}, &ended);
  HttpClient proxy(server.port(), "127.0.0.2");
  proxy.Send("PROXY TCP4 127.0.0.9 127.0.0.1 1 2\r\n");
  EXPECT_EQ(proxy.Call(ScorePost(1, kForwarded)).status, 200);
  EXPECT_THAT(ended.Take(), ElementsAre("192.0.2.9 200"));
}

}  // namespace http_proxy_test
}  // namespace scorecast::coordinator
