#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "coordinator/front/clients/named_model.h"
#include "coordinator/front/forwarder.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/call_format.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A request as it is sent to a replica.
struct PassedMessage {
  std::string bytes;           ///< See FrontRequest.
  std::size_t body_begin = 0;  ///< See FrontRequest.
  NamedInRequest named;
  std::vector<Held> held;  ///< The bytes of the request.
};

/// The format of a call that a front passes on. Used on any thread, but by one at a time: first
/// Take or Skip is called, then Part for each part of the reply, in their order, or Error.
class PassedFormat : public CallFormat {
 public:
  /// The request, or its fault. Throws if there is no memory.
  virtual proto::Expected<PassedMessage> Take() = 0;
  /// The bytes of a part of the reply. The last one may be an error after other parts.
  virtual std::string Part(const FrontReply& reply) = 0;
};

}  // namespace scorecast::coordinator
