#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// The id of a response: the prefix and 32 hexadecimal digits. They follow from the identity, or
/// are random if there is none.
std::string ResponseId(std::string_view prefix, const std::optional<ResponseIdentity>& identity);

}  // namespace scorecast::coordinator
