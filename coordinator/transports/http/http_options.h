#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "coordinator/endpoints/refused_urls.h"
#include "coordinator/resources/resource.h"
#include "coordinator/service/held_bytes.h"

namespace scorecast::coordinator {

struct HttpOptions {
  bool has_endpoints = true;  ///< Otherwise only the resources are served.
  std::vector<Resource> resources;
  std::vector<RefusedUrl> refused_urls;
  std::string root_url;  ///< The URL that POST / means; empty if there is nothing at /.
  /// Origins whose pages may send requests and read replies (CORS), such as "https://example.org";
  /// "*": all. Pages of the server's own host always may.
  std::vector<std::string> cors_origins;
  /// Whether the server listens on a loopback address. Pages in the browsers of its machine reach
  /// it then as well, and one whose name is made to point to the machine (DNS rebinding) could read
  /// replies. So the Host of a request must be of loopback or one of `allowed_hosts`.
  bool is_on_loopback = false;
  std::vector<std::string> allowed_hosts;  ///< Names and IP addresses; "*": all.
  /// Bodies of replies of so many bytes are compressed, if their clients take that; 0: none is.
  /// Replies that may be longer than kLongBytes are formed by threads that do nothing else.
  std::size_t compress_from = static_cast<std::size_t>(kLongBytes);
  /// The header of a request must arrive within this time of its first byte.
  std::chrono::milliseconds header_timeout = std::chrono::seconds(10);
};

}  // namespace scorecast::coordinator
