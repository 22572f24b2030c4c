#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/chat/marked_text.h"

namespace scorecast::coordinator {

struct JinjaFunction;
struct JinjaItems;
struct JinjaLoop;
struct JinjaMembers;
struct JinjaNamespace;
struct JinjaStatement;

/// How large a value is. Bounds the time of what looks into all of it, such as a comparison: what
/// is shared counts as often as it is there.
struct JinjaSize {
  int depth = 0;            ///< How deeply lists and objects are nested.
  std::int64_t weight = 1;  ///< Of each value in it 1, and 1 for each 64 bytes of text.
};

/// A value of a template: one of Python's. Texts, lists and objects never change, and are shared.
class JinjaValue {
 public:
  struct Undefined {
    std::string_view name;  ///< What is not defined; part of the template.
  };
  struct None {};
  using Text = std::shared_ptr<const MarkedText>;
  using List = std::shared_ptr<const JinjaItems>;
  using Object = std::shared_ptr<const JinjaMembers>;
  /// Namespaces and loops belong to the rendering, a macro to the template.
  using Variant =
      std::variant<Undefined, None, bool, std::int64_t, double, Text, List, Object, JinjaNamespace*,
                   const JinjaLoop*, const JinjaStatement*, const JinjaFunction*>;

  JinjaValue() = default;  ///< Undefined.
  explicit JinjaValue(Variant value) : value_(std::move(value)) {}
  explicit JinjaValue(MarkedText text)
      : value_(std::make_shared<const MarkedText>(std::move(text))) {}
  static JinjaValue OfTemplate(std::string text) { return JinjaValue(MarkedText(std::move(text))); }
  static JinjaValue OfNone() { return JinjaValue(None{}); }
  static JinjaValue OfBool(bool truth) { return JinjaValue(Variant(truth)); }
  static JinjaValue OfInteger(std::int64_t integer) { return JinjaValue(Variant(integer)); }
  // Both throw JinjaFault if a value would be too large: see JinjaSize.

  static JinjaValue OfItems(std::vector<JinjaValue> items);
  static JinjaValue OfMembers(std::vector<std::pair<std::string, JinjaValue>> members);

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&value_);
  }
  const MarkedText* text() const { return As<Text>() ? As<Text>()->get() : nullptr; }
  const std::vector<JinjaValue>* items() const;
  const std::vector<std::pair<std::string, JinjaValue>>* members() const;
  bool is_undefined() const { return As<Undefined>() != nullptr; }
  bool is_none() const { return As<None>() != nullptr; }
  /// A Boolean or an integer, as Python takes one for the other.
  std::optional<std::int64_t> integer() const;
  /// Any number.
  std::optional<double> number() const;

  /// The member of an object or a namespace; null if there is none.
  const JinjaValue* Find(std::string_view key) const;

  /// Python's bool(): whether it counts as true.
  bool IsTrue() const;
  /// What it is, for faults: "a list".
  std::string TypeName() const;
  /// Python's str(). Throws JinjaFault for lists and objects.
  MarkedText ToText() const;
  JinjaSize size() const;

 private:
  Variant value_;
};

struct JinjaItems {
  std::vector<JinjaValue> values;
  JinjaSize size;
};

/// The members of an object in their order.
struct JinjaMembers {
  std::vector<std::pair<std::string, JinjaValue>> values;
  JinjaSize size;
};

/// What namespace() makes.
struct JinjaNamespace {
  std::vector<std::pair<std::string, JinjaValue>> members;

  void Set(std::string_view name, JinjaValue value);
};

/// The variable `loop`.
struct JinjaLoop {
  JinjaValue::List items;
  std::size_t index = 0;

  /// Absent if loops have no such attribute.
  std::optional<JinjaValue> Attribute(std::string_view name) const;
};

/// Python's ==.
bool Equal(const JinjaValue& a, const JinjaValue& b);
/// Whether a < b. Throws JinjaFault if they cannot be compared.
bool Less(const JinjaValue& a, const JinjaValue& b);
/// A number as Python writes it.
std::string PythonText(double number);

}  // namespace scorecast::coordinator
