#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/transports/connection/request_server.h"
#include "coordinator/transports/socket/server_state.h"
#include "launcher/client/client.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/e2e/eventually.h"

namespace scorecast::coordinator {

/// The request socket of a FakeServer in multi-item mode, on a free port of the loopback address.
class FakeSocketServer {
 public:
  explicit FakeSocketServer(const SocketOptions& options = {},
                            const SchedulerOptions& scheduler_options = {},
                            RequestObserver* observer = nullptr);
  /// Releases the cluster, and waits until everything is computed.
  ~FakeSocketServer();

  std::unique_ptr<launcher::Client> Connect() const;

  FakeCluster& cluster() { return fake_.cluster; }
  HoldingTokenizer& tokenizer() { return fake_.tokenizer; }
  Scheduler& scheduler() { return fake_.scheduler; }
  RequestService& service() { return fake_.service; }
  RequestServer& server() { return *server_; }
  std::uint16_t port() const { return port_; }

  /// The response to a good request, without a socket.
  v1::Response ResponseTo(const v1::Request& request);

 private:
  FakeServer fake_;
  std::unique_ptr<RequestServer> server_;
  std::uint16_t port_;
};

/// Lets the server serve frames on a free port of the loopback address, which is returned.
std::uint16_t ListenForFrames(RequestServer& server, const RequestService& service,
                              std::function<ServerState()> state = {});

/// A good request. Its content follows from its number, which is also its request_id.
v1::Request NumberedRequest(std::uint64_t number);

using Scores = std::vector<std::vector<double>>;
Scores ScoresOf(const v1::ScoreResponse& response);

void WriteBytes(launcher::Client& client, const std::string& bytes);

using scorecast::testing::Eventually;

}  // namespace scorecast::coordinator
