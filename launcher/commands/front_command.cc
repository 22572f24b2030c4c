#include <chrono>
#include <ctime>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "coordinator/access/api_keys.h"
#include "coordinator/access/file_watch.h"
#include "coordinator/endpoints/endpoints.h"
#include "coordinator/front/clients/front.h"
#include "coordinator/front/clients/front_resources.h"
#include "coordinator/front/clients/passed_frame_format.h"
#include "coordinator/front/clients/passed_http_format.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/transports/connection/tls_files.h"
#include "coordinator/transports/http/http_protocol.h"
#include "coordinator/transports/socket/frame_protocol.h"
#include "launcher/address/reachable_address.h"
#include "launcher/commands/access_flags.h"
#include "launcher/commands/command_end.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/listening_sockets.h"
#include "launcher/commands/replica_flags.h"
#include "launcher/supervisor/systemd_sockets.h"
#include "proto/log/log.h"
#include "proto/wire/frame.h"

namespace scorecast::launcher {
namespace {

/// Time that a client has to read its last replies.
constexpr auto kLastRepliesOfFrontTime = std::chrono::seconds(2);

coordinator::FrontOptions FrontOptionsOf(const FrontFlags& flags,
                                         std::shared_ptr<coordinator::ApiKeys> keys) {
  coordinator::FrontOptions options;
  options.replicas = ReplicaOptionsOf(flags);
  if (flags.max_wait_ms > 0) {
    options.forwarder.queue.max_wait_seconds = static_cast<double>(flags.max_wait_ms) * 1e-3;
  }
  options.socket = flags.socket;
  options.socket.keys = std::move(keys);
  options.socket.proxies = ProxiesOf(flags.access);
  return options;
}

std::vector<std::string> FrontSocketsOf(const FrontFlags& flags) {
  std::vector<std::string> names = {kRequestSocket};
  if (flags.http_port >= 0) {
    names.emplace_back(kHttpSocket);
  }
  return names;
}

std::string ReachableAddressTextOf(const ListeningSockets& sockets, const std::string& name) {
  const IpPort address = sockets.AddressOf(name);
  return IpPort{ReachableAddress(address.ip), address.port}.ToText();
}

void ListenAsFront(const FrontFlags& flags, ListeningSockets& sockets,
                   const std::shared_ptr<coordinator::TlsFiles>& tls, coordinator::Front& front) {
  front.server().Listen(
      sockets.Take(kRequestSocket).Release(),
      coordinator::MakeFrameProtocol(
          coordinator::Endpoints(), {.version = SCORECAST_VERSION}, /*state=*/{}, /*web=*/{},
          {.pass_on =
               [](std::string message, std::uint64_t id, std::vector<coordinator::Held> held) {
                 return std::make_unique<coordinator::PassedFrameFormat>(std::move(message), id,
                                                                         std::move(held));
               },
           .drain = [&front](const v1::Drain& drain) { return front.Drain(drain); }}),
      {.tls = tls, .protocols = {std::string(proto::kTlsProtocol)}});
  if (flags.http_port < 0) {
    return;
  }
  coordinator::HttpOptions http = flags.http;
  http.is_on_loopback = sockets.IsOnLoopback(kHttpSocket);
  http.web.resources =
      coordinator::FrontResources({.version = SCORECAST_VERSION,
                                   .created = std::time(nullptr),
                                   .open_metrics = flags.access.open_metrics,
                                   .status = [&front] { return front.Status(); },
                                   .is_draining = [&front] { return front.is_draining(); }});
  http.web.pass_on = [](coordinator::WebCall call) {
    return std::make_unique<coordinator::PassedHttpFormat>(std::move(call));
  };
  front.server().Listen(
      sockets.Take(kHttpSocket).Release(),
      coordinator::MakeHttpProtocol(coordinator::Endpoints(), std::move(http)),
      {.accepts_while_draining = true, .tls = tls, .protocols = {"http/1.1", "http/1.0"}});
}

/// Waits until all requests have their replies, for at most `time`. What is left gets a 503.
void FinishFrontRequests(coordinator::Front& front, std::chrono::seconds time) {
  const auto end = coordinator::Clock::now() + time;
  while (coordinator::Clock::now() < end && front.Status().in_flight > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  front.RefuseAll();
}

}  // namespace

int RunFrontCommand(const FrontFlags& flags) {
  // Shared, because signals may also come after the end of this function.
  const auto signalled = std::make_shared<std::promise<void>>();
  EndSignals::Get().Handle([signalled](int received, int /*signal*/) {
    if (received == 1) {
      signalled->set_value();
    }
  });
  // A malformed message is reported to its client, and not logged.
  google::protobuf::SetLogHandler(nullptr);
  const auto keys = ReadApiKeys(flags.access);
  std::shared_ptr<coordinator::TlsFiles> tls;
  if (!flags.tls_files.certificate.empty()) {
    tls = std::make_shared<coordinator::TlsFiles>(flags.tls_files);
  }
  const coordinator::FrontOptions options = FrontOptionsOf(flags, keys);
  coordinator::ReplicaList list = ReplicaListOf(flags);
  ListeningSockets sockets(flags.host, /*supervisor=*/nullptr);
  sockets.Reserve(kRequestSocket, flags.port);
  if (flags.http_port >= 0) {
    sockets.Reserve(kHttpSocket, static_cast<std::uint16_t>(flags.http_port));
  }
  CheckReach(flags.access, sockets, FrontSocketsOf(flags));
  std::string ready = "ready: requests on " + ReachableAddressTextOf(sockets, kRequestSocket);
  if (flags.http_port >= 0) {
    ready += ", HTTP on " + ReachableAddressTextOf(sockets, kHttpSocket);
  }
  ready += " (front on host " + OwnHostName() + (tls == nullptr ? ")" : ", TLS)");

  std::vector<coordinator::FileWatch::Look> looks;
  if (keys != nullptr) {
    looks.emplace_back([keys] { static_cast<void>(keys->Reload()); });
  }
  if (tls != nullptr) {
    looks.emplace_back([tls] { tls->Reload(); });
  }
  std::optional<coordinator::FileWatch> watch;
  if (!looks.empty()) {
    watch.emplace(std::move(looks));
  }
  coordinator::Front front(options, std::move(list));
  ListenAsFront(flags, sockets, tls, front);
  proto::Log(proto::LogLevel::kInfo, ready);
  signalled->get_future().wait();
  proto::LogInfo("draining");
  front.server().StartDraining();
  FinishFrontRequests(front, flags.drain_time);
  front.server().CloseConnections(kLastRepliesOfFrontTime);
  proto::LogInfo("stopped");
  return kExitOk;
}

}  // namespace scorecast::launcher
