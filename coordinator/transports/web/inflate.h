#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/service/held_bytes.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A text, and the count of its bytes.
struct HeldText {
  std::string text;
  std::vector<Held> held;
};

/// In which format a body is compressed.
enum class ContentCoding {
  kZlib,  ///< "gzip" or "deflate" (RFC 9110, 8.4.1); the first bytes say which.
  kZstd,  ///< RFC 8878.
};

/// How many bytes Inflate needs for a body, up to `max_bytes` and one more. It is what the end of a
/// gzip file or the beginning of a zstd frame says, which is wrong if there are several; otherwise
/// a guess.
std::int64_t ClaimedBytes(std::string_view compressed, ContentCoding coding,
                          std::int64_t max_bytes);

/// Decompresses a body. Its bytes beyond the first `reserved` count in `held` before they are
/// written. A 413 if it is larger than `max_bytes`, however small it is when compressed; a
/// 503 if `held` has no room; a 400 if it is not in that format, or
/// if a zstd frame needs a window of more than 8 MiB.
proto::Expected<HeldText> Inflate(std::string_view compressed, ContentCoding coding,
                                  std::int64_t max_bytes, HeldBytes& held,
                                  std::int64_t reserved = 0);

}  // namespace scorecast::coordinator
