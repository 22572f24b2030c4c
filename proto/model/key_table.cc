#include "proto/model/key_table.h"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "proto/base/one_line.h"
#include "proto/model/config_obstacles.h"

namespace scorecast::proto {
namespace {

using KeyVisitor = std::function<void(const std::string&, const Json&, const KeyRow&)>;

bool IsToken(const Json& value) {
  return value.is_string() || (value.is_object() && value.contains("content"));
}

bool IsOfKind(const Json& value, ValueKind kind) {
  switch (kind) {
    case ValueKind::kAny:
      return true;
    case ValueKind::kBool:
      return value.is_boolean();
    case ValueKind::kNumber:
      return value.is_number();
    case ValueKind::kString:
      return value.is_string();
    case ValueKind::kStrings:
      return value.is_array() &&
             std::ranges::all_of(value, [](const Json& element) { return element.is_string(); });
    case ValueKind::kObject:
      return value.is_object();
    case ValueKind::kToken:
      return IsToken(value);
    case ValueKind::kTokens:
      return value.is_structured() && std::ranges::all_of(value, IsToken);
  }
  return false;
}

std::string_view WordsFor(ValueKind kind) {
  switch (kind) {
    case ValueKind::kAny:
      return "a value";
    case ValueKind::kBool:
      return "true or false";
    case ValueKind::kNumber:
      return "a number";
    case ValueKind::kString:
      return "a string";
    case ValueKind::kStrings:
      return "a list of strings";
    case ValueKind::kObject:
      return "an object or null";
    case ValueKind::kToken:
      return "the text of a token, or an object with it as content";
    case ValueKind::kTokens:
      return "a list or an object of tokens";
  }
  return "";
}

bool HasKey(const KeyRow& row, std::string_view key) {
  return std::ranges::any_of(NamesOf(row), [key](std::string_view name) {
    return name == key || (name.starts_with('*') && key.ends_with(name.substr(1)));
  });
}

std::string SentenceOf(const KeyRow& row, std::string_view key, const Json& value) {
  if (row.explain != nullptr) {
    return row.explain(key, value);
  }
  if (row.sentence.empty()) {
    return "not supported (supported: " + Json::parse(row.accepted).dump() + ", or no such field)";
  }
  std::string text(row.sentence);
  if (row.lists_architectures) {
    text += " (" + SupportedArchitectures() + ")";
  }
  return text;
}

void ForEachKeyBelow(const Json& value, const KeyTable& table, const Family* family,
                     const std::string& path, const KeyVisitor& visit) {
  for (const auto& [key, member] : value.items()) {
    const KeyRow* found = FindRow(table, key, family);
    const KeyRow& row = found == nullptr ? table.others : *found;
    const std::string name = path + OneLine(key, 80);
    if (row.members != nullptr && member.is_object() && !member.empty()) {
      ForEachKeyBelow(member, *row.members, family, name + ".", visit);
    } else {
      visit(name, member, row);
    }
  }
}

}  // namespace

std::vector<std::string_view> NamesOf(const KeyRow& row) {
  std::vector<std::string_view> names;
  for (std::string_view rest = row.keys; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

const KeyRow* FindRow(const KeyTable& table, std::string_view key, const Family* family) {
  for (const KeyTable* part = &table; part != nullptr; part = part->base) {
    for (const KeyRow& row : part->rows) {
      const bool is_for_it = row.applies == nullptr || (family != nullptr && row.applies(*family));
      if (is_for_it && HasKey(row, key)) {
        return &row;
      }
    }
  }
  return nullptr;
}

KeyFinding Judge(const KeyRow& row, std::string_view key, const Json& value) {
  if (!value.is_null() && !IsOfKind(value, row.kind)) {
    return {KeyUse::kRefused, "it must be " + std::string(WordsFor(row.kind))};
  }
  if (!row.accepted.empty()) {
    const Json accepted = Json::parse(row.accepted);
    if (std::ranges::find(accepted, value) == accepted.end()) {
      return {KeyUse::kRefused, SentenceOf(row, key, value)};
    }
    if (row.use == KeyUse::kRefused) {
      return {KeyUse::kNoEffect, "this value changes nothing"};
    }
  }
  return {row.use, std::string(row.use == KeyUse::kRefused ? row.sentence : row.why)};
}

void EraseRefused(Json& object, const KeyTable& table) {
  for (auto member = object.begin(); member != object.end();) {
    const KeyRow* found = FindRow(table, member.key(), /*family=*/nullptr);
    const KeyRow& row = found == nullptr ? table.others : *found;
    if (row.members != nullptr && member->is_object() && !member->empty()) {
      EraseRefused(*member, *row.members);
    } else if (Judge(row, member.key(), *member).use == KeyUse::kRefused) {
      member = object.erase(member);
      continue;
    }
    ++member;
  }
}

void ForEachKey(const Json& value, const KeyTable& table, const Family* family,
                const KeyVisitor& visit) {
  if (value.is_object()) {
    ForEachKeyBelow(value, table, family, "", visit);
    return;
  }
  for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
    if (value[i].is_object()) {
      ForEachKeyBelow(value[i], table, family, "[" + std::to_string(i) + "].", visit);
    }
  }
}

}  // namespace scorecast::proto
