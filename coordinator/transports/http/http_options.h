#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "coordinator/resources/resource.h"

namespace scorecast::coordinator {

/// A URL of other servers that this one does not have.
struct RefusedUrl {
  std::string path;
  std::string message;  ///< Says what there is instead.
};

struct HttpOptions {
  std::vector<Resource> resources;
  std::vector<RefusedUrl> refused_urls;
  /// Origins whose pages may read replies (CORS), such as "https://example.org"; "*": all.
  std::vector<std::string> cors_origins;
  /// The header of a request must arrive within this time of its first byte.
  std::chrono::milliseconds header_timeout = std::chrono::seconds(10);
};

}  // namespace scorecast::coordinator
