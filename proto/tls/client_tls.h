#pragma once

#include <string>

#include "proto/tls/tls_context.h"

namespace scorecast::proto {

/// TLS of a client.
struct ClientTls {
  TlsContext context;
  /// The name or IP address that the server's certificate must have; empty: that of the address.
  std::string server_name = {};
};

}  // namespace scorecast::proto
