#pragma once

#include <string>
#include <string_view>

#include "coordinator/json/body_json.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class SystemOneRequest;
class TextOrJson;
}  // namespace scorecast::v1

namespace scorecast::launcher {

/// Parses JSON in which no object has a key twice.
proto::Expected<coordinator::BodyJson> ParseDistinct(std::string_view text);

/// A body of /v1/systemone as the message that the request socket takes. The server checks the
/// values of its fields.
proto::Expected<v1::SystemOneRequest> ReadDecisionBody(coordinator::BodyJson body);

/// A text as it is, or JSON. Empty if the value is absent or null.
const std::string& ShownText(const v1::TextOrJson& value);

}  // namespace scorecast::launcher
