#pragma once

#include <optional>
#include <string>

#include "coordinator/transports/http/http_options.h"
#include "coordinator/transports/http/request_head.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// The 403 for a request that a browser sends for a page that must not use this server: for its
/// Host, see HttpOptions::allowed_hosts; for its Origin, see HttpOptions::cors_origins. Programs
/// that are no browsers send no Origin.
std::optional<proto::Error> AccessFault(const HttpOptions& options, const RequestHead& head);

/// Why a text cannot be in HttpOptions::allowed_hosts; empty if it can.
std::string AllowedHostFault(const std::string& text);

}  // namespace scorecast::coordinator
