#pragma once

#include <string>
#include <string_view>

#include "coordinator/chat/jinja_value.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// JSON of a client as a value of a chat template. Every byte of its texts is the request's, and
/// integers keep their digits. The error names `field`: a 400 if this is no JSON, a 413 if it has
/// more than 1024 texts, lists and objects.
proto::Expected<JinjaValue> ChatValue(std::string_view json, const std::string& field);

}  // namespace scorecast::coordinator
