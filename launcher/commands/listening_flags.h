#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "coordinator/transports/connection/socket_options.h"
#include "coordinator/transports/http/http_options.h"
#include "launcher/commands/access_flags.h"
#include "proto/tls/tls_context.h"

namespace CLI {
class App;
}  // namespace CLI

namespace scorecast::launcher {

/// The flags of what serves clients: `serve` and `front`.
struct ListeningFlags {
  std::string host = "127.0.0.1";
  std::uint16_t port = 7400;  ///< Port of the request socket; 0: any free one.
  int http_port = 7480;       ///< 0: any free one; -1: no HTTP.
  AccessFlags access;
  coordinator::HttpOptions http;      ///< The resources and refused URLs are added later.
  proto::TlsServerFiles tls_files;    ///< No TLS if there is no certificate.
  coordinator::SocketOptions socket;  ///< Keys, proxies and bounds of requests are added later.
  std::int64_t max_wait_ms = 30'000;  ///< 0: without limit.
  /// How long accepted requests may still be computed after a signal to end.
  std::chrono::seconds drain_time{10};
};

/// Adds all but those of AddAccessFlags.
void AddListeningFlags(CLI::App& app, ListeningFlags& flags);

}  // namespace scorecast::launcher
