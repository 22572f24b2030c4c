#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/one_line.h"

namespace scorecast::coordinator {

/// Parses the text of a JSON file. Throws StartupError, one line that begins with `origin` (the
/// file).
nlohmann::json ParseJsonFile(std::string_view text, const std::string& origin);

/// A value in a JSON document together with its path, so that every error message names the file
/// and the field. All methods throw StartupError if the value is not of the requested kind. The
/// document must outlive the cursor.
class JsonCursor {
 public:
  /// The root of a document from the file `origin`.
  JsonCursor(const nlohmann::json& root, std::string origin)
      : value_(&root), origin_(std::move(origin)) {}

  const nlohmann::json& value() const { return *value_; }

  /// A member of an object. Find returns nullopt if the member is absent or null; At throws.
  JsonCursor At(std::string_view name) const;
  std::optional<JsonCursor> Find(std::string_view name) const;

  const std::string& String() const;
  bool Bool() const;
  std::int64_t Integer(std::int64_t least, std::int64_t most) const;
  void ForEachElement(const std::function<void(const JsonCursor&)>& element) const;
  /// Calls `member` with the name and the value of each member of an object, except for nulls.
  void ForEachMember(
      const std::function<void(const std::string& name, const JsonCursor&)>& member) const;

  /// A Boolean member, or `by_default` if it is absent.
  bool Flag(std::string_view name, bool by_default) const;

  /// Throws "<file>: <field>: <what>".
  [[noreturn]] void Fail(const std::string& what) const;

 private:
  const nlohmann::json* value_;
  std::string origin_;
  std::string path_;  ///< E.g. "model.vocab"; empty at the root.
};

using proto::Quoted;

}  // namespace scorecast::coordinator
