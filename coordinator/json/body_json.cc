#include "coordinator/json/body_json.h"

#include "coordinator/json/body_members.h"

namespace scorecast::coordinator {

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

}  // namespace scorecast::coordinator
