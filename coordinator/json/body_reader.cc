#include "coordinator/json/body_reader.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/request/request_error.h"
#include "proto/base/check.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;
using proto::Error;

std::optional<std::int64_t> Int64(const json& value) {
  if (!value.is_number_integer()) {
    return std::nullopt;
  }
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return value.get<std::int64_t>();
}

Error WrongType(std::string_view field, std::string_view wanted) {
  const std::string name(field);
  return BadRequest("wrong_type", name + " must be " + std::string(wanted) + ".", name);
}

Error WrongType(std::string_view field, FieldType type) {
  return WrongType(field, Description(type));
}

std::optional<TokenId> IdOf(const json& value) {
  const std::optional<std::int64_t> id = Int64(value);
  const bool fits = id && *id >= std::numeric_limits<TokenId>::min() &&
                    *id <= std::numeric_limits<TokenId>::max();
  return fits ? std::optional(static_cast<TokenId>(*id)) : std::nullopt;
}

/// The error of a value that is not an id, or a whole number that does not fit a TokenId. Other ids
/// that are outside the vocabulary are refused when the request is checked.
Error NotAnId(const json& value, const std::string& field) {
  if (!value.is_number_integer()) {
    return WrongType(field, "a token id, which is an integer");
  }
  return BadRequest("id_out_of_range",
                    "Token ID " + value.dump() + " is out of any vocabulary's range.", field);
}

bool IsNameOf(const RefusedField& refused, std::string_view name) {
  return refused.name.starts_with('*') ? name.ends_with(refused.name.substr(1))
                                       : name == refused.name;
}

bool IsNeutral(const RefusedField& refused, const json& value) {
  const json neutral = json::parse(refused.neutral_json);
  return value.is_null() || std::ranges::find(neutral, value) != neutral.end();
}

/// The name is the client's if `refused` has only its end.
Error NotSupported(const RefusedField& refused, std::string_view field) {
  const std::string name = proto::OneLine(field);
  std::string message = name + " is not supported by this server.";
  if (!refused.hint.empty()) {
    message += " " + std::string(refused.hint);
  }
  return BadRequest("not_supported", std::move(message), name);
}

}  // namespace

bool HasField(const json& body, std::string_view field) {
  if (!body.is_object()) {
    return false;
  }
  const auto found = body.find(field);
  return found != body.end() && !found->is_null();
}

BodyReader::BodyReader(const json& body, const FieldTable& table) : body_(body), table_(table) {
  if (!body.is_object()) {
    Fail(BadRequest("wrong_type", "The request body must be a JSON object.", ""));
    return;
  }
  RefuseUnsupported();
  RequireFields();
}

void BodyReader::RefuseUnsupported() {
  for (const auto& [name, value] : body_.items()) {
    const auto refused = std::ranges::find_if(
        table_.refused, [&name = name](const RefusedField& one) { return IsNameOf(one, name); });
    if (refused != table_.refused.end() && !IsNeutral(*refused, value)) {
      Fail(NotSupported(*refused, name));
    }
  }
}

void BodyReader::RequireFields() {
  for (const Field& field : table_.fields) {
    if (field.is_required && !HasField(body_, field.name)) {
      const std::string name(field.name);
      Fail(BadRequest("missing_field", name + " must be provided.", name));
    }
  }
}

std::optional<std::string> BodyReader::String(std::string_view field) {
  const json* value = Find(field, FieldType::kString);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    Fail(WrongType(field, FieldType::kString));
    return std::nullopt;
  }
  return value->get<std::string>();
}

std::optional<std::vector<std::string>> BodyReader::Strings(std::string_view field) {
  const json* list = FindList(field, FieldType::kStrings);
  return list == nullptr ? std::nullopt : std::optional(ReadStrings(*list, field));
}

std::optional<std::vector<std::string>> BodyReader::StringOrStrings(std::string_view field) {
  const json* value = Find(field, FieldType::kStringOrStrings);
  if (value != nullptr && value->is_string()) {
    return std::vector{value->get<std::string>()};
  }
  const json* list = FindList(field, FieldType::kStringOrStrings);
  return list == nullptr ? std::nullopt : std::optional(ReadStrings(*list, field));
}

std::optional<TextOrId> BodyReader::OptionalTextOrId(std::string_view field) {
  const json* value = Find(field, FieldType::kTextOrId);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->is_string()) {
    return value->get<std::string>();
  }
  const std::optional<TokenId> id = IdOf(*value);
  if (!id) {
    Fail(value->is_number_integer() ? NotAnId(*value, std::string(field))
                                    : WrongType(field, FieldType::kTextOrId));
    return std::nullopt;
  }
  return *id;
}

std::optional<TextOrIds> BodyReader::OptionalTextOrIds(std::string_view field) {
  const json* value = Find(field, FieldType::kTextOrIds);
  return value == nullptr ? std::nullopt : std::optional(ReadTextOrIds(*value, field));
}

TextOrIds BodyReader::RequiredTextOrIds(std::string_view field) {
  proto::Check(RowOf(field).is_required, "the table says that the field is required");
  return OptionalTextOrIds(field).value_or(TextOrIds());
}

std::optional<std::vector<TextOrIds>> BodyReader::TextOrIdsList(std::string_view field) {
  const json* list = FindList(field, FieldType::kTextOrIdsList);
  return list == nullptr ? std::nullopt : std::optional(ReadTextOrIdsList(*list, field));
}

std::optional<std::vector<TextOrIds>> BodyReader::OneOrMoreTextOrIds(std::string_view field) {
  const json* value = Find(field, FieldType::kOneOrMoreTextOrIds);
  if (value != nullptr && value->is_string()) {
    return std::vector{ReadTextOrIds(*value, field)};
  }
  const json* list = FindList(field, FieldType::kOneOrMoreTextOrIds);
  return list == nullptr ? std::nullopt : std::optional(ReadTextOrIdsList(*list, field));
}

std::optional<std::vector<std::string>> BodyReader::Documents(std::string_view field) {
  const json* list = FindList(field, FieldType::kDocuments);
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> texts;
  texts.reserve(list->size());
  for (std::size_t i = 0; i < list->size() && !error_; ++i) {
    const json& document = (*list)[i];
    const bool is_object = HasField(document, "text");
    const json& text = is_object ? document["text"] : document;
    if (!text.is_string()) {
      Fail(WrongType(At(field, i) + (is_object ? ".text" : ""),
                     is_object ? "a string" : "a string or an object with a text"));
      break;
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::optional<std::vector<TokenId>> BodyReader::TokenIds(std::string_view field) {
  const json* list = FindList(field, FieldType::kTokenIds);
  return list == nullptr ? std::nullopt : std::optional(ReadIds(*list, field));
}

std::optional<LabelTokenIds> BodyReader::Labels(std::string_view field) {
  const json* value = FindList(field, FieldType::kLabels);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->empty() || !value->front().is_array()) {
    return ReadIds(*value, field);
  }
  std::vector<std::vector<TokenId>> lists;
  lists.reserve(value->size());
  for (std::size_t i = 0; i < value->size() && !error_; ++i) {
    if (!(*value)[i].is_array()) {
      Fail(WrongType(At(field, i), "a list of token ids, like those before it"));
      break;
    }
    lists.push_back(ReadIds((*value)[i], At(field, i)));
  }
  return lists;
}

std::optional<std::int64_t> BodyReader::Integer(std::string_view field) {
  const json* value = Find(field, FieldType::kInteger);
  if (value == nullptr) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> integer = Int64(*value);
  if (!integer) {
    Fail(WrongType(field, FieldType::kInteger));
  }
  return integer;
}

std::optional<std::vector<std::int64_t>> BodyReader::Integers(std::string_view field) {
  const json* list = FindList(field, FieldType::kIntegers);
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<std::int64_t> integers;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::optional<std::int64_t> integer = Int64((*list)[i]);
    if (!integer) {
      Fail(WrongType(At(field, i), FieldType::kInteger));
      break;
    }
    integers.push_back(*integer);
  }
  return integers;
}

std::optional<std::uint64_t> BodyReader::Unsigned(std::string_view field) {
  const json* value = Find(field, FieldType::kUnsigned);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number_unsigned()) {
    Fail(WrongType(field, FieldType::kUnsigned));
    return std::nullopt;
  }
  return value->get<std::uint64_t>();
}

bool BodyReader::Bool(std::string_view field, bool absent) {
  const FieldType type = RowOf(field).type;
  const bool takes_strings = type == FieldType::kBoolOrString;
  const json* value = Find(field, takes_strings ? type : FieldType::kBool);
  if (value == nullptr) {
    return absent;
  }
  if (value->is_boolean()) {
    return value->get<bool>();
  }
  if (takes_strings) {
    for (const bool truth : {false, true}) {
      if (*value == (truth ? "true" : "false") || *value == (truth ? "True" : "False")) {
        return truth;
      }
    }
  }
  Fail(WrongType(field, type));
  return absent;
}

double BodyReader::Number(std::string_view field, double absent) {
  const json* value = Find(field, FieldType::kNumber);
  if (value == nullptr) {
    return absent;
  }
  if (!value->is_number()) {
    Fail(WrongType(field, FieldType::kNumber));
    return absent;
  }
  return value->get<double>();
}

void BodyReader::ReadOptions(RequestOptions& options) {
  options.timeout_ms = Integer("timeout_ms");
  options.model = String("model");
  options.cache_salt = String("cache_salt");
}

void BodyReader::ReadPriority(RequestOptions& options) {
  options.priority = Integer("priority").value_or(options.priority);
}

void BodyReader::Fail(Error error) {
  if (!error_) {
    error_ = std::move(error);
  }
}

const Field& BodyReader::RowOf(std::string_view field) const {
  const auto row = std::ranges::find(table_.fields, field, &Field::name);
  proto::Check(row != table_.fields.end(), "a reader reads only the fields of its table");
  return *row;
}

const json* BodyReader::Find(std::string_view field, FieldType type) const {
  proto::Check(RowOf(field).type == type, "a reader reads fields with the types of its table");
  return HasField(body_, field) ? &*body_.find(field) : nullptr;
}

const json* BodyReader::FindList(std::string_view field, FieldType type) {
  const json* value = Find(field, type);
  if (value != nullptr && !value->is_array()) {
    Fail(WrongType(field, type));
    return nullptr;
  }
  return value;
}

TextOrIds BodyReader::ReadTextOrIds(const json& value, std::string_view field) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (!value.is_array()) {
    Fail(WrongType(field, FieldType::kTextOrIds));
    return {};
  }
  return ReadIds(value, field);
}

std::vector<TextOrIds> BodyReader::ReadTextOrIdsList(const json& list, std::string_view field) {
  std::vector<TextOrIds> values;
  values.reserve(list.size());
  for (std::size_t i = 0; i < list.size() && !error_; ++i) {
    values.push_back(ReadTextOrIds(list[i], At(field, i)));
  }
  return values;
}

std::vector<std::string> BodyReader::ReadStrings(const json& list, std::string_view field) {
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < list.size() && !error_; ++i) {
    if (!list[i].is_string()) {
      Fail(WrongType(At(field, i), FieldType::kString));
      break;
    }
    strings.push_back(list[i].get<std::string>());
  }
  return strings;
}

std::vector<TokenId> BodyReader::ReadIds(const json& list, std::string_view field) {
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::optional<TokenId> id = IdOf(list[i]);
    if (!id) {
      Fail(NotAnId(list[i], At(field, i)));
      return ids;
    }
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace scorecast::coordinator
