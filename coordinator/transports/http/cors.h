#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/resources/reply_field.h"

namespace scorecast::coordinator {

/// Whether pages of `origin` may send requests and read replies. See HttpOptions::cors_origins.
bool AllowsOrigin(const std::vector<std::string>& allowed, std::string_view origin);

/// The fields that let a page of `origin` read the reply, if `allowed` has the origin, and that say
/// that replies depend on it. Empty if no origin is allowed.
ReplyFields CorsFields(const std::vector<std::string>& allowed, std::string_view origin);

/// The fields with which a preflight is told that the page may send the request.
/// `requested_fields` is what it asks for.
ReplyFields PreflightFields(const std::string& allowed_methods, std::string_view requested_fields);

}  // namespace scorecast::coordinator
