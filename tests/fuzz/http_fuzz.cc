// Arbitrary bytes that a client writes to the port for HTTP. The server replies to them or closes
// the connection, keeps nothing, and serves the next client.

#include <cstddef>
#include <cstdint>
#include <string>

#include <boost/system/system_error.hpp>

#include "proto/base/check.h"
#include "proto/log/log.h"
#include "tests/coordinator/transports/http/fake_http_server.h"

namespace {

using scorecast::coordinator::FakeHttpServer;
using scorecast::coordinator::HttpClient;
using scorecast::coordinator::HttpOptions;
using scorecast::coordinator::SocketOptions;
using scorecast::proto::Check;

FakeHttpServer* MakeServer() {
  scorecast::proto::StartLog("off");
  SocketOptions options;
  options.max_request_bytes = 4096;
  HttpOptions http;
  http.web.resources = {{"/state", [] { return scorecast::coordinator::Share({}); }}};
  http.cors_origins = {"https://a"};
  http.is_on_loopback = true;
  http.allowed_hosts = {"h", "host"};
  return new FakeHttpServer(options, http);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static FakeHttpServer* const server = MakeServer();
  HttpClient client = server->Connect();
  try {
    client.Send(std::string(reinterpret_cast<const char*>(data), size));
    client.CloseSending();
    const std::string replies = client.ReceiveAll();
    Check(replies.empty() || replies.starts_with("HTTP/1.1 "), "replies are HTTP");
  } catch (const boost::system::system_error&) {
    // The server has closed the connection with bytes unread.
  }
  Check(server->Call(scorecast::coordinator::ScorePost(1)).status == 200,
        "the next client is served");
  server->cluster().ForgetPlans();
  return 0;
}
