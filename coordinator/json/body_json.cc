#include "coordinator/json/body_json.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "coordinator/json/body_members.h"
#include "coordinator/json/json_writer.h"
#include "coordinator/request/request_error.h"
#include "proto/base/one_line.h"
#include "proto/base/python_text.h"

namespace scorecast::coordinator {
namespace {

/// A key that an object has twice, and where it is: "state.b[0].c".
struct Duplicate {
  const std::string* key = nullptr;
  std::string field;
};

std::string Joined(std::string outer, const std::string& inner) {
  const bool needs_point = !outer.empty() && !inner.starts_with('[');
  return std::move(outer) + (needs_point ? "." : "") + inner;
}

/// The first such key in `json`. Paths are only made of one that is found.
std::optional<Duplicate> FindDuplicate(const BodyJson& json) {
  if (json.is_object()) {
    std::unordered_set<std::string_view> seen;
    for (const auto& [key, value] : *json.get_ptr<const BodyJson::object_t*>()) {
      if (!seen.insert(key).second) {
        return Duplicate{&key, proto::OneLine(key)};
      }
      if (auto duplicate = FindDuplicate(value)) {
        duplicate->field = Joined(proto::OneLine(key), duplicate->field);
        return duplicate;
      }
    }
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      if (auto duplicate = FindDuplicate(json[i])) {
        duplicate->field = Joined(At("", i), duplicate->field);
        return duplicate;
      }
    }
  }
  return std::nullopt;
}

void WriteCompact(const BodyJson& json, JsonWriter& writer) {
  if (json.is_object()) {
    writer.BeginObject();
    for (const auto& [key, value] : *json.get_ptr<const BodyJson::object_t*>()) {
      writer.Key(key);
      WriteCompact(value, writer);
    }
    writer.EndObject();
  } else if (json.is_array()) {
    writer.BeginList();
    for (const BodyJson& value : json) {
      WriteCompact(value, writer);
    }
    writer.EndList();
  } else if (const auto* text = json.get_ptr<const std::string*>()) {
    writer.Text(*text);
  } else if (const std::optional<std::string_view> digits = LongDigits(json)) {
    writer.Json(*digits);
  } else if (json.is_number_float()) {
    writer.Json(proto::PythonText(json.get<double>()));
  } else if (json.is_number_unsigned()) {
    writer.Unsigned(json.get<std::uint64_t>());
  } else if (json.is_number_integer()) {
    writer.Integer(json.get<std::int64_t>());
  } else if (json.is_boolean()) {
    writer.Json(json.get<bool>() ? "true" : "false");
  } else {
    writer.Json("null");
  }
}

}  // namespace

std::optional<std::string_view> LongDigits(const BodyJson& json) {
  const auto* digits = json.get_ptr<const BodyJson::binary_t*>();
  return digits == nullptr ? std::nullopt
                           : std::optional(std::string_view(
                                 reinterpret_cast<const char*>(digits->data()), digits->size()));
}

std::optional<double> NumberOf(const BodyJson& json) {
  if (const std::optional<std::string_view> digits = LongDigits(json)) {
    return std::strtod(std::string(*digits).c_str(), nullptr);
  }
  return json.is_number() ? std::optional(json.get<double>()) : std::nullopt;
}

std::string CompactJson(const BodyJson& json) {
  std::string text;
  JsonWriter writer(text);
  WriteCompact(json, writer);
  return text;
}

const BodyJson* FindMember(const BodyJson& json, std::string_view key) {
  const auto* members = json.get_ptr<const BodyJson::object_t*>();
  if (members == nullptr) {
    return nullptr;
  }
  const auto found = members->find(key);
  return found == members->end() ? nullptr : &found->second;
}

BodyJson* FindMember(BodyJson& json, std::string_view key) {
  return const_cast<BodyJson*>(FindMember(std::as_const(json), key));
}

bool HasMember(const BodyJson& json, std::string_view key) {
  const BodyJson* member = FindMember(json, key);
  return member != nullptr && !member->is_null();
}

std::optional<proto::Error> DuplicateKeyFault(const BodyJson& json, const std::string& field) {
  const std::optional<Duplicate> duplicate = FindDuplicate(json);
  if (!duplicate) {
    return std::nullopt;
  }
  return BadRequest("duplicate_key",
                    "An object of the request has the key " + Quoted(*duplicate->key) + " twice.",
                    Joined(field, duplicate->field));
}

}  // namespace scorecast::coordinator
