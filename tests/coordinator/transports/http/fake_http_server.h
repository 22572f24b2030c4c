#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "coordinator/transports/connection/request_server.h"
#include "coordinator/transports/http/http_options.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/transports/http/http_client.h"
#include "tests/e2e/eventually.h"

namespace scorecast::coordinator {

/// HTTP of a FakeServer, usually in multi-item mode, on a free port of the loopback address.
class FakeHttpServer {
 public:
  explicit FakeHttpServer(const SocketOptions& options = {}, HttpOptions http = {},
                          const SchedulerOptions& scheduler_options = {},
                          RequestObserver* observer = nullptr,
                          const ServerOptions& server_options = FakeServer::MultiItem());
  /// Releases the cluster, and waits until everything is computed.
  ~FakeHttpServer();

  HttpClient Connect() const { return HttpClient(port_); }
  /// The reply to a request that is alone on its connection.
  HttpReply Call(const std::string& bytes) const { return Connect().Call(bytes); }

  FakeCluster& cluster() { return fake_.cluster; }
  HoldingTokenizer& tokenizer() { return fake_.tokenizer; }
  Scheduler& scheduler() { return fake_.scheduler; }
  RequestService& service() { return fake_.service; }
  RequestServer& server() { return *server_; }
  std::uint16_t port() const { return port_; }

  /// The JSON that a good request for /v1/score gets, without timings and without HTTP.
  nlohmann::json ScoreOf(const nlohmann::json& body);

 private:
  FakeServer fake_;
  std::unique_ptr<RequestServer> server_;
  std::uint16_t port_;
};

/// A good body for /v1/score. Its content follows from its number.
nlohmann::json ScoreBody(std::uint64_t number);
/// The same as a request.
std::string ScorePost(std::uint64_t number, const std::string& fields = {});
/// A good body for /v1/chunked, which streams.
nlohmann::json StreamBody(int max_new_tokens);

/// The fields of a response that are the same each time.
nlohmann::json Stable(nlohmann::json response);

using scorecast::testing::Eventually;

}  // namespace scorecast::coordinator
