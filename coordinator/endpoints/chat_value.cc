#include "coordinator/endpoints/chat_value.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/json/body_members.h"
#include "coordinator/json/json_text.h"
#include "coordinator/request/request_error.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

/// A template looks for members one by one.
constexpr std::int64_t kMostChatValues = 1024;

/// The last one counts of members with the same key, as in Python.
JinjaValue ValueOf(const BodyJson& json) {
  if (json.is_object()) {
    std::vector<JinjaMember> members;
    for (const auto& [key, value] : *json.get_ptr<const BodyJson::object_t*>()) {
      SetMember(
          {std::make_shared<const MarkedText>(key, MarkedText::Origin::kRequest), ValueOf(value)},
          members);
    }
    return JinjaValue::OfMembers(std::move(members));
  }
  if (json.is_array()) {
    std::vector<JinjaValue> items;
    for (const BodyJson& item : json) {
      items.push_back(ValueOf(item));
    }
    return JinjaValue::OfItems(std::move(items));
  }
  if (const auto* text = json.get_ptr<const std::string*>()) {
    return JinjaValue::OfRequest(*text);
  }
  if (json.is_boolean()) {
    return JinjaValue::OfBool(json.get<bool>());
  }
  if (const std::optional<std::string_view> digits = LongDigits(json)) {
    return JinjaValue::OfDigits(std::string(*digits));
  }
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) {
    return JinjaValue::OfDigits(std::to_string(json.get<std::uint64_t>()));
  }
  if (json.is_number_integer()) {
    return JinjaValue::OfInteger(json.get<std::int64_t>());
  }
  return json.is_number() ? JinjaValue::OfNumber(json.get<double>()) : JinjaValue::OfNone();
}

}  // namespace

Expected<JinjaValue> ChatValue(std::string_view json, const std::string& field) {
  const Expected<BodyJson> parsed = ParseJson(json, kMostChatValues);
  if (!parsed) {
    Error fault = parsed.error();
    fault.param = field;
    fault.message = field + ": " + fault.message;
    return Unexpected(std::move(fault));
  }
  try {
    return ValueOf(*parsed);
  } catch (const JinjaFault& fault) {
    return Unexpected(Error{413, "too_many_values", field + ": " + fault.what + ".", field});
  }
}

}  // namespace scorecast::coordinator
