#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "coordinator/endpoints/endpoint.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

class Call;
class RequestService;

/// What a call looks like on the wire: the bytes of its request, until they are parsed, and those
/// of its replies. Used on any thread, but by one at a time: first Parse or Skip is called, then
/// Delta for each delta, in their order, then Response or Error once.
class CallFormat {
 public:
  virtual ~CallFormat() = default;

  /// Size of the request: as it arrived, and once it is parsed, as it was parsed. If it is
  /// compressed, what it claims to have.
  virtual std::size_t request_bytes() const = 0;
  /// Decompresses the request, which may take long. False if it has more bytes than `limit`, which
  /// nobody knows before. It then stays as it is. Called before Parse, or not at all.
  virtual bool Unpack(std::size_t limit) {
    static_cast<void>(limit);
    return true;
  }
  /// Parses the request, and frees its bytes. Tells `call` of the endpoint, if the request names
  /// one, and of the bytes that stay held. Throws nothing.
  virtual ParsedRequest Parse(const RequestService& service, Call& call) = 0;
  /// Called instead of Parse if the request is refused. Reads only what its reply needs.
  virtual void Skip() = 0;
  /// See Call::id. Known from the beginning.
  virtual std::string_view id() const { return {}; }
  /// By which the client cancels the request: see Connection::Cancel. Known from the beginning, and
  /// never changes.
  virtual std::uint64_t number() const { return 0; }

  /// Called only if the request streams.
  virtual std::string Delta(const EndpointResponse& delta) = 0;
  virtual std::string Response(const EndpointResponse& response) = 0;
  virtual std::string Error(const proto::Error& error) = 0;

  /// Whether the connection is to be closed when the response or the error, which has been formed,
  /// is written.
  virtual bool ends_connection() const { return false; }
  /// See Call::bytes_per_message_byte.
  virtual std::int64_t bytes_per_message_byte() const { return 1; }
};

}  // namespace scorecast::coordinator
