#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Answers keep the order in which their fields are written.
using JsonAnswerBody = nlohmann::ordered_json;

/// A client's JSON. 400 "invalid_utf8" or "invalid_json", the latter also for values nested more
/// than 32 deep, which no request is. Of equal keys the last one holds, as in Python's json.
proto::Expected<nlohmann::json> ParseJson(std::string_view text);

/// One line, without a newline.
std::string ToJsonText(const JsonAnswerBody& json);

/// SGLang's flat error body: {"object":"error","message":…,"type":…,"param":…,"code":…,"reason":…}.
JsonAnswerBody ErrorBody(const proto::Error& error);

}  // namespace scorecast::coordinator
