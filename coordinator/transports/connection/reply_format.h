#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/generate/completion_generator.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// The bytes of the replies to one request. Called on any thread, but never twice at a time: first
/// for the deltas, in their order, then once for the response or the error.
class ReplyFormat {
 public:
  virtual ~ReplyFormat() = default;

  /// Called only if the request streams.
  virtual std::string Delta(std::size_t output, const CompletionDelta& delta) = 0;
  virtual std::string Response(const EndpointResponse& response) = 0;
  virtual std::string Error(const proto::Error& error) = 0;

  /// Whether the connection is to be closed when the response or the error, which has been formed,
  /// is written.
  virtual bool ends_connection() const { return false; }
  /// Upper bound on the bytes that a response takes for each byte of it as a message: see
  /// EndpointRequest::ResponseBytesBound.
  virtual std::int64_t bytes_per_message_byte() const { return 1; }
};

}  // namespace scorecast::coordinator
