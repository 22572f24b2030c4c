// What stands behind a dot or in brackets: members, items, and what values of Python's have
// besides.

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <string>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_functions.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using Names = std::span<const std::string_view>;

constexpr auto kTextNames = std::to_array<std::string_view>(
    {"capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
     "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
     "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
     "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
     "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
     "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
     "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
     "swapcase",     "title",       "translate", "upper",      "zfill",        "striptags",
     "unescape"});
constexpr auto kListNames =
    std::to_array<std::string_view>({"append", "clear", "copy", "count", "extend", "index",
                                     "insert", "pop", "remove", "reverse", "sort"});
constexpr auto kTupleNames = std::to_array<std::string_view>({"count", "index"});
constexpr auto kRangeNames =
    std::to_array<std::string_view>({"count", "index", "start", "step", "stop"});
constexpr auto kViewNames = std::to_array<std::string_view>({"isdisjoint", "mapping"});
constexpr auto kObjectNames =
    std::to_array<std::string_view>({"clear", "copy", "fromkeys", "get", "items", "keys", "pop",
                                     "popitem", "setdefault", "update", "values"});
constexpr auto kNumberNames = std::to_array<std::string_view>(
    {"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes",
     "fromhex", "hex", "imag", "is_integer", "numerator", "real", "to_bytes"});
constexpr auto kIteratorNames =
    std::to_array<std::string_view>({"close", "gi_code", "gi_frame", "gi_running", "gi_suspended",
                                     "gi_yieldfrom", "send", "throw"});
constexpr auto kLoopNames = std::to_array<std::string_view>({"changed", "cycle"});

/// The names of what Python's type of a value has, without those that begin with underscores.
Names NamesOf(const JinjaValue& value) {
  if (value.text() != nullptr) {
    return kTextNames;
  }
  if (value.is_object()) {
    return kObjectNames;
  }
  if (const JinjaValue::List* list = value.As<JinjaValue::List>()) {
    switch ((*list)->kind) {
      case JinjaItemsKind::kList:
        return kListNames;
      case JinjaItemsKind::kTuple:
        return kTupleNames;
      case JinjaItemsKind::kRange:
        return kRangeNames;
      case JinjaItemsKind::kView:
        return kViewNames;
    }
  }
  if (value.number() || value.is_integer()) {
    return kNumberNames;
  }
  if (value.As<JinjaIterator*>() != nullptr) {
    return kIteratorNames;
  }
  return value.As<JinjaLoop*>() != nullptr ? Names(kLoopNames) : Names();
}

/// Whether Python finds an attribute of this name, although the value has no member of the name.
bool IsOfPython(const JinjaValue& value, std::string_view name) {
  const bool has_any_name =
      value.As<const JinjaMacro*>() != nullptr || value.As<const JinjaFunction*>() != nullptr;
  const bool is_internal =
      value.As<JinjaNamespace*>() != nullptr ? name.starts_with('_') : name.starts_with("__");
  return has_any_name || is_internal || std::ranges::count(NamesOf(value), name) > 0;
}

JinjaFault NoAttribute(const JinjaValue& value, std::string_view name) {
  return JinjaFault("the attribute " + proto::Quoted(name) + " of " + value.TypeName() +
                    " is not supported");
}

/// An attribute that is none of Python's; undefined if there is none.
JinjaValue OwnAttribute(const JinjaValue& value, std::string_view name) {
  if (JinjaLoop* const* loop = value.As<JinjaLoop*>()) {
    if (std::optional<JinjaValue> found = (*loop)->Attribute(name)) {
      return *std::move(found);
    }
  }
  const JinjaValue* found = value.Find(name);
  return found != nullptr ? *found : JinjaValue();
}

/// The item at an index, which counts from the end if it is negative; undefined if there is none.
JinjaValue ItemAt(const std::vector<JinjaValue>& items, std::int64_t index) {
  const std::int64_t length = std::ssize(items);
  if (index < -length || index >= length) {
    return JinjaValue();
  }
  return items[static_cast<std::size_t>(index < 0 ? index + length : index)];
}

/// A character of a text, whose index is like that of ItemAt. A character of Markup is Markup.
JinjaValue CharacterAt(const JinjaValue& value, std::int64_t index, JinjaRuntime& runtime) {
  const JinjaValue character = ItemAt(ItemsOf(value, runtime)->values, index);
  return character.is_undefined() || !value.text()->is_markup()
             ? character
             : JinjaValue(character.ToText().WithMarkup(true));
}

}  // namespace

JinjaValue AttributeOf(const JinjaValue& value, std::string_view name) {
  if (value.is_undefined()) {
    throw JinjaFault(value.TypeName() + " has no attribute " + std::string(name));
  }
  if (IsOfPython(value, name)) {
    throw NoAttribute(value, name);
  }
  return OwnAttribute(value, name);
}

JinjaValue ItemOf(const JinjaValue& value, const JinjaValue& key, JinjaRuntime& runtime) {
  if (value.is_undefined()) {
    throw JinjaFault(value.TypeName() + " has no items");
  }
  if (key.text() == nullptr) {
    const bool has_indices =
        value.items() != nullptr && !value.is_list(JinjaItemsKind::kView) && key.integer();
    return has_indices                                ? ItemAt(*value.items(), *key.integer())
           : value.text() != nullptr && key.integer() ? CharacterAt(value, *key.integer(), runtime)
                                                      : JinjaValue();
  }
  const std::string& name = key.text()->text();
  JinjaValue found = OwnAttribute(value, name);
  if (found.is_undefined() && IsOfPython(value, name)) {
    throw NoAttribute(value, name);
  }
  return found;
}

}  // namespace scorecast::coordinator
