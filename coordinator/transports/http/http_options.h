#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "coordinator/endpoints/refused_urls.h"
#include "coordinator/resources/resource.h"

namespace scorecast::coordinator {

struct HttpOptions {
  std::vector<Resource> resources;
  std::vector<RefusedUrl> refused_urls;
  /// Origins whose pages may read replies (CORS), such as "https://example.org"; "*": all.
  std::vector<std::string> cors_origins;
  /// The header of a request must arrive within this time of its first byte.
  std::chrono::milliseconds header_timeout = std::chrono::seconds(10);
};

}  // namespace scorecast::coordinator
