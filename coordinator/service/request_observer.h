#pragma once

#include <string_view>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/schedule/clock.h"

namespace scorecast::coordinator {

/// A request that has ended.
struct RequestEnd {
  const Endpoint* endpoint = nullptr;  ///< Null if it was refused before its endpoint was known.
  std::string_view client;             ///< See ClientId::address.
  int code = 200;                      ///< 200 for a response, otherwise the error's.
  const EndpointResponse* response = nullptr;  ///< Null for an error.
};

/// Is told of every request when it ends. A request whose client leaves before it is parsed is
/// dropped unread, and does not count.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;

  /// Called once for each request that is parsed or refused, on any thread. A response counts when
  /// it is formed, which is never done on the computing thread, or when it is dropped because its
  /// client has left. Must return soon.
  virtual void OnEnd(const RequestEnd& end) = 0;
  /// Called when the first byte of a request was read: it had waited this long. On any thread. Must
  /// return soon.
  virtual void OnIoWait(Clock::duration wait) = 0;
};

}  // namespace scorecast::coordinator
