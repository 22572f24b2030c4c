#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "proto/base/error.h"

namespace scorecast::coordinator {

template <typename Key, typename Value, typename Less = std::less<Key>,
          typename Allocator = std::allocator<std::pair<const Key, Value>>>
class MemberList;

/// JSON as a client has sent it: an object has its members in their order, also those whose key is
/// there twice. Include body_members.h in order to look into it.
using BodyJson = nlohmann::basic_json<MemberList>;

/// The member with this key, the last one if there are several, or null. `json` may be any JSON.
const BodyJson* FindMember(const BodyJson& json, std::string_view key);
BodyJson* FindMember(BodyJson& json, std::string_view key);

/// Whether a body has a member that is not null.
bool HasMember(const BodyJson& json, std::string_view key);

/// A 400 "duplicate_key" that names the field, if an object in `json` has a key twice. `field` is
/// that of `json`; it is empty for a body.
std::optional<proto::Error> DuplicateKeyFault(const BodyJson& json, const std::string& field);

}  // namespace scorecast::coordinator
