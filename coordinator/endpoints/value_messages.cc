#include "coordinator/endpoints/value_messages.h"

#include <cstddef>
#include <utility>

#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {

std::vector<TokenId> IdsOf(const v1::TokenIds& message) {
  return {message.ids().begin(), message.ids().end()};
}

std::optional<TextOrIds> ValueOf(const v1::TextOrIds& message) {
  switch (message.value_case()) {
    case v1::TextOrIds::kText:
      return message.text();
    case v1::TextOrIds::kIds:
      return IdsOf(message.ids());
    case v1::TextOrIds::VALUE_NOT_SET:
      break;
  }
  return std::nullopt;
}

std::optional<TextOrId> ValueOf(const v1::TextOrId& message) {
  switch (message.value_case()) {
    case v1::TextOrId::kText:
      return message.text();
    case v1::TextOrId::kId:
      return message.id();
    case v1::TextOrId::VALUE_NOT_SET:
      break;
  }
  return std::nullopt;
}

proto::Expected<std::vector<TextOrIds>> ValuesOf(
    const google::protobuf::RepeatedPtrField<v1::TextOrIds>& messages, const std::string& field) {
  std::vector<TextOrIds> values;
  for (const v1::TextOrIds& message : messages) {
    std::optional<TextOrIds> value = ValueOf(message);
    if (!value) {
      return proto::Unexpected(MissingValue(At(field, values.size())));
    }
    values.push_back(*std::move(value));
  }
  return values;
}

proto::Error MissingValue(const std::string& field) {
  return BadRequest("missing_field", field + " must be text or token ids.", field);
}

}  // namespace scorecast::coordinator
