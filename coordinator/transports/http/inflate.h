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

/// How many bytes Inflate needs for a body, up to `max_bytes` and one more. It is what the end of a
/// gzip file or the beginning of a zstd frame says, which is wrong if there are several; otherwise
/// a guess.
std::int64_t ClaimedBytes(std::string_view compressed, std::int64_t max_bytes);

/// Decompresses a body in the encoding "gzip", "deflate" (RFC 9110, 8.4.1) or "zstd" (RFC 8878),
/// which is told by its first bytes. Its bytes beyond the first `reserved` count in `held` before
/// they are written. A 413 if it is larger than `max_bytes`, however small it is when compressed; a
/// 503 if `held` has no room; a 400 if it is not what it claims to be.
proto::Expected<HeldText> Inflate(std::string_view compressed, std::int64_t max_bytes,
                                  HeldBytes& held, std::int64_t reserved = 0);

}  // namespace scorecast::coordinator
