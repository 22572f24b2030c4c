#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/held_bytes.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A response that is still to be formed from the rows.
struct DeferredResponse {
  /// Takes time: to be called once, not on the computing thread, while the service lives.
  std::function<proto::Expected<std::unique_ptr<EndpointResponse>>()> form;
  /// The room that the response's bytes take; may be null. To be kept until the formed response
  /// counts by itself.
  Held room;
  bool is_long = false;  ///< May have more than kLongBytes, and so take long to form.
};

/// Requests and responses of more bytes than this are long.
inline constexpr std::int64_t kLongBytes = std::int64_t{64} << 10;

/// Where a transport takes the response of one request. Of two transports the sinks differ, and
/// nothing else of a request's way.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;

  /// Where the response's bytes count from the request's begin on.
  virtual HeldBytes& held_bytes() = 0;

  /// The 400 of a request that streams, if this transport cannot.
  virtual std::optional<proto::Error> StreamFault() const = 0;

  /// Called on the computing thread, before OnDone, if the request streams. Must return soon.
  virtual void OnDelta(std::size_t output, CompletionDelta delta) = 0;

  /// Called once: on the computing thread, or on the thread that begins or cancels the request.
  /// Must return soon.
  virtual void OnDone(DeferredResponse response) = 0;
};

}  // namespace scorecast::coordinator
