#include "launcher/client/decision_body.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/json/body_form.h"
#include "coordinator/json/body_members.h"
#include "coordinator/json/body_reader.h"
#include "coordinator/json/json_text.h"
#include "proto/scorecast.pb.h"

namespace scorecast::launcher {

using coordinator::BodyJson;
using proto::Expected;
using proto::Unexpected;

Expected<BodyJson> ParseDistinct(std::string_view text) {
  Expected<BodyJson> json =
      coordinator::ParseJson(text, /*max_values=*/std::numeric_limits<std::int64_t>::max());
  if (json) {
    if (auto fault = coordinator::DuplicateKeyFault(*json, "")) {
      return Unexpected(*std::move(fault));
    }
  }
  return json;
}

Expected<v1::SystemOneRequest> ReadDecisionBody(BodyJson body) {
  static const coordinator::BodyForm form(*v1::SystemOneRequest::descriptor());
  v1::SystemOneRequest request;
  const Expected<coordinator::BodyNotes> notes =
      coordinator::ReadBody(std::move(body), form, request);
  if (!notes) {
    return Unexpected(notes.error());
  }
  return request;
}

const std::string& ShownText(const v1::TextOrJson& value) {
  static const std::string none;
  if (value.has_json()) {
    return value.json() == "null" ? none : value.json();
  }
  return value.text();
}

}  // namespace scorecast::launcher
