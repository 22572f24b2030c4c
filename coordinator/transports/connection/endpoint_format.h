#pragma once

#include <cstddef>
#include <string>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/transports/connection/call_format.h"

namespace scorecast::coordinator {

class Call;
class RequestService;

/// The format of a call that an endpoint of this process computes. Used on any thread, but by one
/// at a time: first Parse or Skip is called, then Delta for each delta, in their order, then
/// Response or Error once.
class EndpointFormat : public CallFormat {
 public:
  /// Decompresses the request, which may take long. False if it has more bytes than `limit`, which
  /// nobody knows before. It then stays as it is. Called before Parse, or not at all.
  virtual bool Unpack(std::size_t limit) {
    static_cast<void>(limit);
    return true;
  }
  /// Parses the request, and frees its bytes. Tells `call` of the endpoint, if the request names
  /// one, and of the bytes that stay held. Throws nothing.
  virtual ParsedRequest Parse(const RequestService& service, Call& call) = 0;

  /// Called only if the request streams.
  virtual std::string Delta(const EndpointResponse& delta) = 0;
  virtual std::string Response(const EndpointResponse& response) = 0;
};

}  // namespace scorecast::coordinator
