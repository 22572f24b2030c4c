#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/base/error.h"

namespace scorecast::coordinator {

/// What a call looks like on the wire: the bytes of its request, and those of its replies. What
/// else the handler of the call needs of them is in a class of its own, such as EndpointFormat.
/// Used on any thread, but by one at a time.
class CallFormat {
 public:
  virtual ~CallFormat() = default;

  /// Size of the request: as it arrived, and once it is parsed, as it was parsed. If it is
  /// compressed, what it claims to have.
  virtual std::size_t request_bytes() const = 0;
  /// Called if the request is refused, and frees its bytes. Reads only what its reply needs.
  virtual void Skip() = 0;
  /// See Call::id. Known from the beginning.
  virtual std::string_view id() const { return {}; }
  /// By which the client cancels the request: see Connection::Cancel. Known from the beginning, and
  /// never changes.
  virtual std::uint64_t number() const { return 0; }

  virtual std::string Error(const proto::Error& error) = 0;

  /// Whether the connection is to be closed when the response or the error, which has been formed,
  /// is written.
  virtual bool ends_connection() const { return false; }
  /// See Call::bytes_per_message_byte.
  virtual std::int64_t bytes_per_message_byte() const { return 1; }
};

}  // namespace scorecast::coordinator
