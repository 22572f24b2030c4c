#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/model/config_fields.h"
#include "proto/model/families.h"

namespace scorecast::proto {

/// What becomes of a key in a file of a model's directory.
enum class KeyUse : std::uint8_t {
  kFollowed,
  kNoEffect,  ///< transformers or sentence-transformers read the key, but no response changes.
  kRefused,   ///< The model is not loaded.
  kUnread,    ///< Neither the libraries nor scorecast read the key.
};

/// What a value must be. null is always taken, and means the same as an absent key.
enum class ValueKind : std::uint8_t {
  kAny,  ///< Whoever reads the key checks its value.
  kBool,
  kNumber,
  kString,
  kStrings,  ///< A list of strings.
  kObject,
  kToken,   ///< The text of a token, or an object that has it as `content`.
  kTokens,  ///< A list, or an object, of tokens.
};

struct KeyTable;

/// One row of a table of keys: what becomes of some keys, of all families or of some. Followed,
/// NoEffect, Refused and Unread make rows, which the members of a row refine.
struct KeyRow {
  /// Names of keys, separated by spaces. A name "*_token" stands for all names with this end.
  std::string_view keys;
  KeyUse use = KeyUse::kFollowed;
  std::string_view why;  ///< kNoEffect: why no response changes.
  /// A JSON list of the values that are taken; empty if all are. If `use` is kRefused, these values
  /// mean the same as an absent key.
  std::string_view accepted;
  /// Why other values are refused. Empty: the message lists `accepted`.
  std::string_view sentence;
  bool lists_architectures = false;  ///< The message also lists the supported architectures.
  ValueKind kind = ValueKind::kAny;
  const KeyTable* members = nullptr;  ///< The keys of the object that is the value.
  /// Whether the row is for a family; null: for all.
  bool (*applies)(const Family& family) = nullptr;
  /// Gives the sentence instead of `sentence`, if it depends on the value.
  std::string (*explain)(std::string_view key, const Json& value) = nullptr;
  /// generation_config.json: the field of requests that counts instead of the key.
  std::string_view request_field;
  /// generation_config.json: only completions whose tokens are drawn need the key.
  bool is_of_draws = false;

  constexpr KeyRow Of(bool (*predicate)(const Family&)) const {
    KeyRow row = *this;
    row.applies = predicate;
    return row;
  }
  constexpr KeyRow As(ValueKind value_kind) const {
    KeyRow row = *this;
    row.kind = value_kind;
    return row;
  }
  constexpr KeyRow Only(std::string_view values, std::string_view why_no_others = "") const {
    KeyRow row = *this;
    row.accepted = values;
    row.sentence = why_no_others;
    return row;
  }
  constexpr KeyRow With(const KeyTable& table) const {
    KeyRow row = *this;
    row.kind = ValueKind::kObject;
    row.members = &table;
    return row;
  }
  constexpr KeyRow WithArchitectures() const {
    KeyRow row = *this;
    row.lists_architectures = true;
    return row;
  }
  constexpr KeyRow ExplainedBy(std::string (*function)(std::string_view, const Json&)) const {
    KeyRow row = *this;
    row.explain = function;
    return row;
  }
  constexpr KeyRow Unless(std::string_view field) const {
    KeyRow row = *this;
    row.request_field = field;
    return row;
  }
  constexpr KeyRow OfDraws() const {
    KeyRow row = *this;
    row.is_of_draws = true;
    return row;
  }
};

constexpr KeyRow Followed(std::string_view keys) { return {.keys = keys}; }
constexpr KeyRow NoEffect(std::string_view keys, std::string_view why) {
  return {.keys = keys, .use = KeyUse::kNoEffect, .why = why};
}
constexpr KeyRow Refused(std::string_view keys, std::string_view accepted,
                         std::string_view sentence = "") {
  return {.keys = keys, .use = KeyUse::kRefused, .accepted = accepted, .sentence = sentence};
}
constexpr KeyRow Unread(std::string_view keys) { return {.keys = keys, .use = KeyUse::kUnread}; }

/// The keys of one kind of file, or of an object in one. The first row that has a key and is for
/// the family counts.
struct KeyTable {
  std::span<const KeyRow> rows;
  KeyRow others;                   ///< What becomes of keys that no row has.
  const KeyTable* base = nullptr;  ///< Further rows, behind these.
};

/// Of a file whose other keys are read by nobody.
constexpr KeyTable OpenTable(std::span<const KeyRow> rows) { return {rows, Unread("*")}; }

/// Of a file whose other keys are refused, with this sentence.
constexpr KeyTable ClosedTable(std::span<const KeyRow> rows, std::string_view sentence,
                               const KeyTable* base = nullptr) {
  return {rows, Refused("*", "", sentence), base};
}

/// The names in the `keys` of a row.
std::vector<std::string_view> NamesOf(const KeyRow& row);

/// The row of a key; null if no row has it. Without a family, only rows for all families count.
const KeyRow* FindRow(const KeyTable& table, std::string_view key, const Family* family);

/// What becomes of a key that has this value, and why.
struct KeyFinding {
  KeyUse use = KeyUse::kUnread;
  std::string why;  ///< Of kNoEffect and kRefused.
};

KeyFinding Judge(const KeyRow& row, std::string_view key, const Json& value);

/// Calls `visit` for the keys of an object, and of the objects in it that have tables of their own;
/// of a list, for those of its elements. `path` is e.g. "processing_kwargs.text.stride" or
/// "[0].type".
void ForEachKey(const Json& value, const KeyTable& table, const Family* family,
                const std::function<void(const std::string& path, const Json& value,
                                         const KeyRow& row)>& visit);

/// Erases the keys that ForEachKey visits and that are refused for each family.
void EraseRefused(Json& object, const KeyTable& table);

}  // namespace scorecast::proto
