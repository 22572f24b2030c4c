#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/service/held_bytes.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A response that is still to be formed from the rows.
struct DeferredResponse {
  /// Takes time. Must be called once, while the service lives, and not on the computing thread.
  std::function<proto::Expected<std::unique_ptr<EndpointResponse>>()> form;
  /// Holds the bound on the response's bytes; may be null. Must be kept until the bytes of the
  /// formed response are counted.
  Held room;
  /// The response may have more than kLongBytes, and then takes long to form.
  bool is_long = false;
};

/// Requests and responses with more bytes than this are long.
inline constexpr std::int64_t kLongBytes = std::int64_t{64} << 10;

/// Receives the deltas and the response of one request, for the transport that it came from. Apart
/// from the sink, a request is handled in the same way for every transport.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;

  /// The count that the response's bytes belong to, from RequestService::Begin on.
  virtual HeldBytes& held_bytes() = 0;

  /// The client whose request it is: see Job::client.
  virtual ClientId client() const = 0;

  /// The id by which the client knows the request, for the log; may be empty.
  virtual std::string request_id() const { return {}; }

  /// Upper bound on the bytes that the reply takes for each byte of the response as a message: see
  /// EndpointRequest::ResponseBytesBound.
  virtual std::int64_t bytes_per_message_byte() const { return 1; }

  /// The 400 for a request that streams, if this transport cannot stream.
  virtual std::optional<proto::Error> StreamFault() const = 0;

  /// Called on the computing thread if the request streams, and not after OnDone. Must return soon.
  virtual void OnDelta(std::size_t output, CompletionDelta delta) = 0;

  /// Called once, on any thread, such as the computing thread or the thread of the deadlines. Must
  /// return soon.
  virtual void OnDone(DeferredResponse response) = 0;
};

}  // namespace scorecast::coordinator
