#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The bytes of a text in Base64 (RFC 4648, padded); nullopt if it is malformed.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace scorecast::coordinator
