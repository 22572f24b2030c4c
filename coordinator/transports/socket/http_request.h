#pragma once

#include <optional>
#include <string>

#include "coordinator/transports/web/web_request.h"

namespace scorecast::coordinator {

/// An HTTP request that a front passes on, without its body.
struct PassedRequest {
  WebRequest request;
  std::string request_id;  ///< See RequestId.
};

/// What a v1::HttpRequest says. nullopt if `bytes` are none, or a text in it is not valid UTF-8.
std::optional<PassedRequest> ReadHttpRequest(const std::string& bytes);

}  // namespace scorecast::coordinator
