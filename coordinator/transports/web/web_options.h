#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "coordinator/endpoints/refused_urls.h"
#include "coordinator/resources/resource.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/web/web_call.h"

namespace scorecast::coordinator {

/// What a server has at its URLs, and how it replies.
struct WebOptions {
  std::vector<Resource> resources;
  std::vector<RefusedUrl> refused_urls;
  std::string root_url;  ///< The URL that POST / means; empty if there is nothing at /.
  /// Bodies of replies of so many bytes are compressed, if their clients take that; 0: none is.
  /// Replies that may be longer than kLongBytes are formed by threads that do nothing else.
  std::size_t compress_from = static_cast<std::size_t>(kLongBytes);
  /// If set, the handler of calls gets every request that is neither an OPTIONS nor for a resource
  /// of this server, in this format and with its body as it arrived. Otherwise it gets requests to
  /// endpoints only, as HttpFormat.
  MakeWebFormat pass_on = nullptr;
};

}  // namespace scorecast::coordinator
