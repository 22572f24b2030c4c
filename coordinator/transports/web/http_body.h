#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/connection.h"
#include "coordinator/transports/web/inflate.h"

namespace scorecast::coordinator {

/// The body of a request to an endpoint, as it arrived.
struct HttpBody {
  HeldText bytes;
  // The part of `bytes` that is the body: a large one is not copied out of the message that it is
  // in.
  std::size_t begin = 0;
  std::size_t size = std::string::npos;
  std::optional<ContentCoding> coding;  ///< nullopt: it is not compressed.
  std::int64_t max_bytes = 0;           ///< Upper bound on its size when it is decompressed.
  std::int64_t claimed_bytes = 0;       ///< See ClaimedBytes; only if there is a coding.
  Held room;                            ///< Held for `claimed_bytes`.

  std::string_view text() const { return std::string_view(bytes.text).substr(begin, size); }
};

/// Finds out how a body is compressed, and how many bytes it claims to have. `content_encoding` is
/// a known one (ContentEncodingFault).
void ReadClaim(HttpBody& body, const std::string& content_encoding, std::int64_t max_bytes);

/// Gives the body that has arrived over the connection to `next`, at once or later: if it is
/// compressed, with room for what it claims to have; nullopt if there is no room for that, or if
/// the connection ends. `content_encoding` is a known one. Called before Connection::BeginRequest.
void MakeRoom(Connection& connection, HttpBody body, const std::string& content_encoding,
              std::int64_t max_bytes, std::function<void(std::optional<HttpBody>)> next);

}  // namespace scorecast::coordinator
