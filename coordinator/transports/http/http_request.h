#pragma once

#include <cstdint>

#include "coordinator/service/held_bytes.h"
#include "coordinator/service/request_service.h"
#include "coordinator/transports/connection/request_handler.h"
#include "coordinator/transports/http/inflate.h"
#include "coordinator/transports/http/reply_writer.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// The body of a request to an endpoint, as it arrived.
struct HttpBody {
  HeldText bytes;
  bool is_compressed = false;
  std::int64_t max_bytes = 0;  ///< Upper bound on its size when it is decompressed.
};

/// A request to `terms.endpoint` that is not parsed, because it has this error.
IncomingRequest RefusedHttpRequest(const RequestService& service, ReplyTerms terms,
                                   const proto::Error& refusal);

/// Parses a request to `terms.endpoint`. `requests` counts the bytes of a body that is
/// decompressed.
IncomingRequest ParseHttpRequest(const RequestService& service, ReplyTerms terms,
                                 const HttpBody& body, HeldBytes& requests);

}  // namespace scorecast::coordinator
