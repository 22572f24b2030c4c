#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "proto/base/error.h"

namespace scorecast::coordinator {

template <typename Key, typename Value, typename Less = std::less<Key>,
          typename Allocator = std::allocator<std::pair<const Key, Value>>>
class MemberList;

/// JSON as a client has sent it: an object has its members in their order, also those whose key is
/// there twice. An integer that does not fit into 64 bits is a `binary` with its digits. Include
/// body_members.h in order to look into it.
using BodyJson = nlohmann::basic_json<MemberList>;

/// The member with this key, the last one if there are several, or null. `json` may be any JSON.
const BodyJson* FindMember(const BodyJson& json, std::string_view key);
BodyJson* FindMember(BodyJson& json, std::string_view key);

/// The digits of an integer that does not fit into 64 bits, with its sign. Nothing for other JSON.
std::optional<std::string_view> LongDigits(const BodyJson& json);

/// A number of any kind, rounded to a double. Nothing for other JSON.
std::optional<double> NumberOf(const BodyJson& json);

/// One line without spaces, with members in their order. Texts are as the client means them, and
/// numbers as Python's json.dumps writes them.
std::string CompactJson(const BodyJson& json);

/// Whether a body has a member that is not null.
bool HasMember(const BodyJson& json, std::string_view key);

/// A 400 "duplicate_key" that names the field, if an object in `json` has a key twice. `field` is
/// that of `json`; it is empty for a body.
std::optional<proto::Error> DuplicateKeyFault(const BodyJson& json, const std::string& field);

}  // namespace scorecast::coordinator
