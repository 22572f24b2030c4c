#include "coordinator/json/body_json.h"

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "coordinator/json/body_members.h"
#include "coordinator/request/request_error.h"
#include "proto/base/one_line.h"

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

}  // namespace

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
