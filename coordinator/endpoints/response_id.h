#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// The id of a response: the prefix and 32 hexadecimal digits. They follow from the identity, or
/// are random if there is none.
std::string ResponseId(std::string_view prefix, const std::optional<ResponseIdentity>& identity);

/// The time of a response in seconds since 1970: that of the identity, or now if there is none.
std::int64_t CreatedTime(const std::optional<ResponseIdentity>& identity);

}  // namespace scorecast::coordinator
