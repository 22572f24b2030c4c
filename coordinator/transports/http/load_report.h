#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "coordinator/status/service_load.h"

namespace scorecast::coordinator {

/// A request has this field if its reply is to have the load of the server.
inline constexpr std::string_view kLoadFormatField = "endpoint-load-metrics-format";
/// The field of the reply.
inline constexpr std::string_view kLoadField = "endpoint-load-metrics";

/// Forms the value of kLoadField in the format that a request asks for, at the time of its reply:
/// an OrcaLoadReport as Envoy reads it. `format` is "TEXT" or "JSON", in letters of any case. Null
/// if it is something else, or if `load` is empty.
std::function<std::string()> LoadReport(std::string_view format,
                                        const std::function<ServiceLoad()>& load);

}  // namespace scorecast::coordinator
