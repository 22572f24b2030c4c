#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "coordinator/json/body_json.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// JSON that keeps the order in which its fields are written.
using OrderedJson = nlohmann::ordered_json;

/// Parses JSON from a client. A 400 "invalid_utf8" or "invalid_json"; the latter also if the JSON
/// is nested more than 32 levels deep, which no request is. A 413 if it has more than `max_values`
/// texts (keys as well), lists and objects; these are counted before anything is built. Integers of
/// any length keep their digits.
proto::Expected<BodyJson> ParseJson(std::string_view text, std::int64_t max_values);

/// One line, without a newline.
std::string ToJsonText(const OrderedJson& json);

}  // namespace scorecast::coordinator
