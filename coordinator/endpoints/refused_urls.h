#pragma once

#include <optional>
#include <string_view>

#include "proto/base/error.h"

namespace scorecast::coordinator {

/// The 404 for a URL of other engines that this server does not have, with a sentence that says
/// what there is instead. Nothing for any other URL.
std::optional<proto::Error> RefusedUrlFault(std::string_view url);

}  // namespace scorecast::coordinator
