#include "proto/model/config_fields.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::proto {
namespace {

Json ParseAny(std::string_view json_text, const std::string& where) {
  // The parser would end the text at a zero byte.
  if (const std::size_t zero = json_text.find('\0'); zero != std::string_view::npos) {
    throw StartupError(where + ": not valid JSON at byte " + std::to_string(zero + 1));
  }
  Json root;
  try {
    root = Json::parse(json_text);
  } catch (const Json::parse_error& error) {
    throw StartupError(where + ": not valid JSON at byte " + std::to_string(error.byte));
  } catch (const Json::out_of_range&) {
    throw StartupError(where + ": a number is too large for float64");
  }
  return root;
}

}  // namespace

bool IsIntegerWithin(const Json& value, Bounds bounds) {
  if (!value.is_number_integer()) {
    return false;
  }
  // An unsigned number is compared as such, because 2^63 and more would wrap.
  const bool is_too_large = value.is_number_unsigned() ? value.get<std::uint64_t>() >
                                                             static_cast<std::uint64_t>(bounds.most)
                                                       : value.get<std::int64_t>() > bounds.most;
  return !is_too_large && value.get<std::int64_t>() >= bounds.least;
}

std::string Shown(const Json& value) {
  if (value.is_string()) {
    return Quoted(value.get_ref<const std::string&>());
  }
  if (value.is_array()) {
    return value.empty() ? "[]" : "a list";
  }
  if (value.is_object()) {
    return value.empty() ? "{}" : "an object";
  }
  return value.dump();
}

Json ParseObject(std::string_view json_text, const std::string& where) {
  Json root = ParseAny(json_text, where);
  if (!root.is_object()) {
    throw StartupError(where + ": not a JSON object");
  }
  return root;
}

Json ParseList(std::string_view json_text, const std::string& where) {
  Json root = ParseAny(json_text, where);
  if (!root.is_array()) {
    throw StartupError(where + ": not a JSON list");
  }
  return root;
}

Fields::Fields(const Json& object, const std::string& origin, std::string path)
    : object_(object), origin_(origin), path_(std::move(path)) {}

Fields Fields::Nested(std::string_view name, const Json& value) const {
  if (!value.is_object()) {
    Refuse(name, value, "it must be an object or null");
  }
  return {value, origin_, Path(name) + "."};
}

void Fields::Fail(const std::string& what) const { throw StartupError(origin_ + ": " + what); }

void Fields::Refuse(std::string_view name, const Json& value, const std::string& why) const {
  Fail(Path(name) + " is " + Shown(value) + ": " + why);
}

std::string Fields::Path(std::string_view name) const { return path_ + OneLine(name, 80); }

const Json* Fields::Find(std::string_view name) const {
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

const Json* Fields::FindNonNull(std::string_view name) const {
  const Json* value = Find(name);
  return value != nullptr && value->is_null() ? nullptr : value;
}

std::optional<std::int64_t> Fields::OptionalInteger(std::string_view name, Bounds bounds) const {
  const Json* value = Find(name);
  return value == nullptr ? std::nullopt : std::optional(IntegerOf(name, *value, bounds));
}

std::int64_t Fields::Integer(std::string_view name, Bounds bounds) const {
  const auto value = OptionalInteger(name, bounds);
  if (!value) {
    Fail(Path(name) + " is missing");
  }
  return *value;
}

std::int64_t Fields::IntegerOf(std::string_view name, const Json& value, Bounds bounds) const {
  const std::string range = std::to_string(bounds.least) + " to " + std::to_string(bounds.most);
  if (!value.is_number_integer()) {
    Refuse(name, value, "it must be an integer from " + range);
  }
  if (!IsIntegerWithin(value, bounds)) {
    Refuse(name, value, "it must be from " + range);
  }
  return value.get<std::int64_t>();
}

double Fields::PositiveNumber(std::string_view name, double fallback) const {
  const Json* value = Find(name);
  return value == nullptr ? fallback : PositiveNumberOf(name, *value);
}

std::optional<double> Fields::OptionalPositiveNumber(std::string_view name) const {
  const Json* value = FindNonNull(name);
  return value == nullptr ? std::nullopt : std::optional(PositiveNumberOf(name, *value));
}

double Fields::PositiveNumberOf(std::string_view name, const Json& value) const {
  const double number = value.is_number() ? value.get<double>() : 0;
  if (!(number > 0) || !std::isfinite(number)) {
    Refuse(name, value, "it must be a number above 0");
  }
  return number;
}

bool Fields::Bool(std::string_view name, bool fallback) const {
  const Json* value = Find(name);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    Refuse(name, *value, "it must be true or false");
  }
  return value->get<bool>();
}

const std::string& Fields::StringOf(std::string_view name, const Json& value) const {
  if (!value.is_string()) {
    Refuse(name, value, "it must be a name");
  }
  return value.get_ref<const std::string&>();
}

}  // namespace scorecast::proto
