#include "coordinator/json/body_json.h"

#include <string>
#include <unordered_set>

#include "coordinator/json/body_members.h"
#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {
namespace {

/// A key that an object in `json` has twice; null if there is none.
const std::string* DuplicateKey(const BodyJson& json) {
  if (json.is_object()) {
    std::unordered_set<std::string_view> seen;
    for (const auto& [key, value] : *json.get_ptr<const BodyJson::object_t*>()) {
      if (!seen.insert(key).second) {
        return &key;
      }
      if (const std::string* duplicate = DuplicateKey(value)) {
        return duplicate;
      }
    }
  } else if (json.is_array()) {
    for (const BodyJson& value : json) {
      if (const std::string* duplicate = DuplicateKey(value)) {
        return duplicate;
      }
    }
  }
  return nullptr;
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

std::optional<proto::Error> DuplicateKeyFault(const BodyJson& json) {
  const std::string* const key = DuplicateKey(json);
  return key == nullptr
             ? std::nullopt
             : std::optional(BadRequest(
                   "duplicate_key",
                   "An object of the request has the key " + Quoted(*key) + " twice.", ""));
}

}  // namespace scorecast::coordinator
