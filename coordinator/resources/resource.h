#pragma once

#include <functional>
#include <string>

namespace scorecast::coordinator {

/// The reply to a GET of a resource.
struct ResourceContent {
  int status = 200;  ///< An HTTP status code.
  std::string content_type = "application/json";
  std::string body;
};

/// Something that clients read without a request to an endpoint, such as the state of the service.
struct Resource {
  std::string path;
  /// Called on any thread. Must return soon, and must not wait for the ranks.
  std::function<ResourceContent()> get;
  std::string description;  ///< One line, for /openapi.json.
};

}  // namespace scorecast::coordinator
