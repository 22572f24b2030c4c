#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace scorecast::proto {

using Json = nlohmann::json;

/// Inclusive bounds on an integer.
struct Bounds {
  std::int64_t least = 1;
  std::int64_t most = 0;
};

/// Bounds on positions and on sizes counted in them.
inline constexpr Bounds kPositions{1, 1 << 30};

/// Whether a value is an integer within the bounds.
bool IsIntegerWithin(const Json& value, Bounds bounds);

/// A value as messages show it. Lists and objects are not printed because they may be large.
std::string Shown(const Json& value);

/// Throws StartupError, which names `where`, if the text is not a JSON object.
Json ParseObject(std::string_view json_text, const std::string& where);

/// The same for a list.
Json ParseList(std::string_view json_text, const std::string& where);

/// An object of config.json: reads fields by name and throws StartupErrors that name them. The
/// object and `origin` must outlive it.
class Fields {
 public:
  /// Messages put `path` before a field's name, e.g. "rope_scaling.".
  Fields(const Json& object, const std::string& origin, std::string path);

  /// The fields of `value`, the object in field `name`.
  Fields Nested(std::string_view name, const Json& value) const;

  [[noreturn]] void Fail(const std::string& what) const;

  /// "NAME is VALUE: WHY".
  [[noreturn]] void Refuse(std::string_view name, const Json& value, const std::string& why) const;

  /// A field's name as messages show it, with its path.
  std::string Path(std::string_view name) const;

  const Json& object() const { return object_; }

  /// Null if the field is absent.
  const Json* Find(std::string_view name) const;

  /// Null if the field is absent or null.
  const Json* FindNonNull(std::string_view name) const;

  std::optional<std::int64_t> OptionalInteger(std::string_view name, Bounds bounds) const;

  std::int64_t Integer(std::string_view name, Bounds bounds) const;

  std::int64_t IntegerOf(std::string_view name, const Json& value, Bounds bounds) const;

  /// A number above 0.
  double PositiveNumber(std::string_view name, double fallback) const;

  /// Nullopt if the field is absent or null.
  std::optional<double> OptionalPositiveNumber(std::string_view name) const;

  bool Bool(std::string_view name, bool fallback) const;

  const std::string& StringOf(std::string_view name, const Json& value) const;

 private:
  double PositiveNumberOf(std::string_view name, const Json& value) const;

  const Json& object_;
  const std::string& origin_;
  std::string path_;
};

}  // namespace scorecast::proto
