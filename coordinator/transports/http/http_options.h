#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "coordinator/status/service_load.h"
#include "coordinator/transports/web/web_options.h"

namespace scorecast::coordinator {

struct HttpOptions {
  WebOptions web;
  /// Origins whose pages may send requests and read replies (CORS), such as "https://example.org";
  /// "*": all. Pages of the server's own host always may.
  std::vector<std::string> cors_origins;
  /// Whether the server listens on a loopback address. Pages in the browsers of its machine reach
  /// it then as well, and one whose name is made to point to the machine (DNS rebinding) could read
  /// replies. So the Host of a request must be of loopback or one of `allowed_hosts`.
  bool is_on_loopback = false;
  std::vector<std::string> allowed_hosts;  ///< Names and IP addresses; "*": all.
  /// The header of a request must arrive within this time of its first byte.
  std::chrono::milliseconds header_timeout = std::chrono::seconds(10);
  /// The load that replies have, if their requests ask for it: see LoadReport. May be empty.
  std::function<ServiceLoad()> load;
};

}  // namespace scorecast::coordinator
