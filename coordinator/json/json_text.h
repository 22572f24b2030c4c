#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Responses keep the order in which their fields are written.
using OrderedJson = nlohmann::ordered_json;

/// Parses the JSON of a client. 400 "invalid_utf8" or "invalid_json"; the latter also for values
/// that are nested more than 32 deep, as no request is. If a key is repeated, its last value
/// counts, as in Python's json.
proto::Expected<nlohmann::json> ParseJson(std::string_view text);

/// One line, without a newline.
std::string ToJsonText(const OrderedJson& json);

/// SGLang's flat error body: {"object":"error","message":…,"type":…,"param":…,"code":…,"reason":…}.
OrderedJson ErrorBody(const proto::Error& error);

}  // namespace scorecast::coordinator
