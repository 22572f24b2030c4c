#include "coordinator/json/body_reader.h"

#include <cstddef>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/request/request_error.h"

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

}  // namespace

Error WrongType(const std::string& field, std::string_view wanted) {
  return BadRequest("wrong_type", field + " must be " + std::string(wanted) + ".", field);
}

BodyReader::BodyReader(const json& body) : body_(body) {
  if (!body.is_object()) {
    Fail(BadRequest("wrong_type", "The request body must be a JSON object.", ""));
  }
}

std::optional<TextOrIds> BodyReader::OptionalTextOrIds(const std::string& field) {
  const json* value = Find(field);
  return value == nullptr ? std::nullopt : std::optional(ReadTextOrIds(*value, field));
}

TextOrIds BodyReader::RequiredTextOrIds(const std::string& field) {
  std::optional<TextOrIds> value = OptionalTextOrIds(field);
  if (!value) {
    Fail(BadRequest("missing_field", field + " must be provided.", field));
    return {};
  }
  return *std::move(value);
}

std::optional<std::vector<TextOrIds>> BodyReader::TextOrIdsList(const std::string& field) {
  const json* list = FindList(field, "a list of strings or of lists of token ids");
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<TextOrIds> values;
  values.reserve(list->size());
  for (std::size_t i = 0; i < list->size() && !error_; ++i) {
    values.push_back(ReadTextOrIds((*list)[i], At(field, i)));
  }
  return values;
}

std::optional<std::vector<TokenId>> BodyReader::TokenIds(const std::string& field) {
  const json* list = FindList(field, "a list of token ids");
  return list == nullptr ? std::nullopt : std::optional(ReadIds(*list, field));
}

std::optional<LabelTokenIds> BodyReader::Labels(const std::string& field) {
  const json* value = FindList(field, "a list of token ids, or one such list per item");
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

std::optional<std::vector<std::string>> BodyReader::Strings(const std::string& field) {
  const json* list = FindList(field, "a list of strings");
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < list->size() && !error_; ++i) {
    if (!(*list)[i].is_string()) {
      Fail(WrongType(At(field, i), "a string"));
      break;
    }
    strings.push_back((*list)[i].get<std::string>());
  }
  return strings;
}

std::optional<std::vector<std::string>> BodyReader::StringOrStrings(const std::string& field) {
  const json* value = Find(field);
  if (value != nullptr && value->is_string()) {
    return std::vector<std::string>{value->get<std::string>()};
  }
  return Strings(field);
}

std::optional<std::vector<std::int64_t>> BodyReader::Integers(const std::string& field) {
  const json* list = FindList(field, "a list of integers");
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<std::int64_t> integers;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::optional<std::int64_t> integer = Int64((*list)[i]);
    if (!integer) {
      Fail(WrongType(At(field, i), "an integer of at most 64 bits"));
      break;
    }
    integers.push_back(*integer);
  }
  return integers;
}

bool BodyReader::Bool(const std::string& field, bool absent) {
  const json* value = Find(field);
  if (value == nullptr) {
    return absent;
  }
  if (!value->is_boolean()) {
    Fail(WrongType(field, "true or false"));
    return absent;
  }
  return value->get<bool>();
}

double BodyReader::Number(const std::string& field, double absent) {
  const json* value = Find(field);
  if (value == nullptr) {
    return absent;
  }
  if (!value->is_number()) {
    Fail(WrongType(field, "a number"));
    return absent;
  }
  return value->get<double>();
}

std::optional<std::int64_t> BodyReader::Integer(const std::string& field) {
  const json* value = Find(field);
  if (value == nullptr) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> integer = Int64(*value);
  if (!integer) {
    Fail(WrongType(field, "an integer of at most 64 bits"));
  }
  return integer;
}

std::optional<std::uint64_t> BodyReader::Unsigned(const std::string& field) {
  const json* value = Find(field);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number_unsigned()) {
    Fail(WrongType(field, "an integer from 0 to 2^64 - 1"));
    return std::nullopt;
  }
  return value->get<std::uint64_t>();
}

std::optional<std::string> BodyReader::String(const std::string& field) {
  const json* value = Find(field);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    Fail(WrongType(field, "a string"));
    return std::nullopt;
  }
  return value->get<std::string>();
}

void BodyReader::ReadOptions(RequestOptions& options) {
  options.timeout_ms = Integer("timeout_ms");
  options.model = String("model");
  options.cache_salt = String("cache_salt");
}

void BodyReader::Fail(Error error) {
  if (!error_) {
    error_ = std::move(error);
  }
}

const json* BodyReader::Find(const std::string& field) const {
  if (!body_.is_object()) {
    return nullptr;
  }
  const auto found = body_.find(field);
  return found == body_.end() || found->is_null() ? nullptr : &*found;
}

const json* BodyReader::FindList(const std::string& field, std::string_view wanted) {
  const json* value = Find(field);
  if (value != nullptr && !value->is_array()) {
    Fail(WrongType(field, wanted));
    return nullptr;
  }
  return value;
}

TextOrIds BodyReader::ReadTextOrIds(const json& value, const std::string& field) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (!value.is_array()) {
    Fail(WrongType(field, "a string or a list of token ids"));
    return {};
  }
  return ReadIds(value, field);
}

/// Refuses whole numbers that do not fit a TokenId. Other ids that are outside the vocabulary are
/// refused when the request is checked.
std::vector<TokenId> BodyReader::ReadIds(const json& list, const std::string& field) {
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json& value = list[i];
    if (!value.is_number_integer()) {
      Fail(WrongType(At(field, i), "a token id, which is an integer"));
      return ids;
    }
    const std::optional<std::int64_t> id = Int64(value);
    if (!id || *id < std::numeric_limits<TokenId>::min() ||
        *id > std::numeric_limits<TokenId>::max()) {
      Fail(BadRequest("id_out_of_range",
                      "Token ID " + value.dump() + " is out of any vocabulary's range.",
                      At(field, i)));
      return ids;
    }
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

}  // namespace scorecast::coordinator
