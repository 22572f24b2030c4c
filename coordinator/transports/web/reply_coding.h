#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "coordinator/transports/web/inflate.h"

namespace scorecast::coordinator {

/// How the body of a reply may be compressed.
struct ReplyCoding {
  std::optional<ContentCoding> coding;  ///< The best one for the client; nullopt: none.
  bool is_needed = false;               ///< The client takes no body that is not compressed.
};

/// What the field Accept-Encoding allows (RFC 9110, 12.5.3), which is empty if it is absent. "gzip"
/// and "zstd" are known; the one of the larger weight is taken, or of equal weights zstd, which is
/// faster. `*` means gzip, unless that is refused. A member that is malformed counts as absent.
ReplyCoding ReplyCodingOf(std::string_view accept_encoding);

/// "gzip" or "zstd"
std::string_view NameOf(ContentCoding coding);

/// The body compressed as a whole, at the fastest level, kZlib as gzip. Throws std::bad_alloc.
std::string Compressed(std::string_view body, ContentCoding coding);

}  // namespace scorecast::coordinator
