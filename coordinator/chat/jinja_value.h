#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/chat/marked_text.h"

namespace scorecast::coordinator {

class JinjaLoop;
struct JinjaFunction;
struct JinjaItems;
struct JinjaIterator;
struct JinjaMacro;
struct JinjaMember;
struct JinjaMembers;
struct JinjaNamespace;
struct JinjaStatement;

/// How large a value is. Bounds the time of what looks into all of it, such as a comparison: what
/// is shared counts as often as it is there.
struct JinjaSize {
  int depth = 0;            ///< How deeply lists and objects are nested.
  std::int64_t weight = 1;  ///< Of each value in it 1, and 1 for each 64 bytes of text.
};

using JinjaNames = std::set<std::string, std::less<>>;

/// Kinds of what has items one behind another. They differ in what a template can do with them.
enum class JinjaItemsKind { kList, kTuple, kRange, kView };

/// A value of a template: one of Python's. Texts, lists and objects never change, and are shared.
class JinjaValue {
 public:
  struct Undefined {
    std::string_view name;  ///< What is not defined; part of the template.
  };
  struct None {};
  /// An integer that does not fit into 64 bits. It is written and compared, but not computed with.
  struct LongInteger {
    std::shared_ptr<const std::string> digits;  ///< With its sign.
  };
  using Text = std::shared_ptr<const MarkedText>;
  using List = std::shared_ptr<const JinjaItems>;
  using Object = std::shared_ptr<const JinjaMembers>;
  /// Iterators, namespaces, loops and macros belong to the rendering.
  using Variant = std::variant<Undefined, None, bool, std::int64_t, double, LongInteger, Text, List,
                               Object, JinjaIterator*, JinjaNamespace*, JinjaLoop*,
                               const JinjaMacro*, const JinjaFunction*>;

  JinjaValue() = default;  ///< Undefined.
  explicit JinjaValue(Variant value) : value_(std::move(value)) {}
  explicit JinjaValue(MarkedText text)
      : value_(std::make_shared<const MarkedText>(std::move(text))) {}
  static JinjaValue OfTemplate(std::string text) { return JinjaValue(MarkedText(std::move(text))); }
  static JinjaValue OfRequest(std::string text) {
    return JinjaValue(MarkedText(std::move(text), MarkedText::Origin::kRequest));
  }
  static JinjaValue OfNone() { return JinjaValue(None{}); }
  static JinjaValue OfBool(bool truth) { return JinjaValue(Variant(truth)); }
  static JinjaValue OfInteger(std::int64_t integer) { return JinjaValue(Variant(integer)); }
  static JinjaValue OfNumber(double number) { return JinjaValue(Variant(number)); }
  static JinjaValue OfDigits(std::string digits) {
    return JinjaValue(LongInteger{std::make_shared<const std::string>(std::move(digits))});
  }
  // These throw JinjaFault if a value would be too large: see JinjaSize.

  static JinjaValue OfItems(std::vector<JinjaValue> items,
                            JinjaItemsKind kind = JinjaItemsKind::kList);
  /// `left_out` are the names of members that the object has, but that were not made values.
  static JinjaValue OfMembers(std::vector<JinjaMember> members, JinjaNames left_out = {});

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&value_);
  }
  const MarkedText* text() const { return As<Text>() ? As<Text>()->get() : nullptr; }
  const std::vector<JinjaValue>* items() const;
  /// Whether it is a list of this kind.
  bool is_list(JinjaItemsKind kind) const;
  bool is_object() const { return As<Object>() != nullptr; }
  /// All members of an object; null for other values. Throws JinjaFault if one was left out.
  const std::vector<JinjaMember>* members() const;
  bool is_undefined() const { return As<Undefined>() != nullptr; }
  bool is_none() const { return As<None>() != nullptr; }
  bool is_integer() const { return As<std::int64_t>() || As<LongInteger>(); }
  /// A Boolean or an integer of 64 bits, as Python takes one for the other.
  std::optional<std::int64_t> integer() const;
  /// Any number but a LongInteger.
  std::optional<double> number() const;

  /// The member of an object or a namespace; null if there is none. Throws JinjaFault if it was
  /// left out.
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
  JinjaItemsKind kind = JinjaItemsKind::kList;
};

struct JinjaMember {
  JinjaValue::Text key;
  JinjaValue value;

  std::string_view name() const { return key->text(); }
};

/// The members of an object in their order.
struct JinjaMembers {
  std::vector<JinjaMember> values;
  JinjaSize size;
  JinjaNames left_out;
};

/// A member whose key the template has.
JinjaMember MemberOfTemplate(std::string key, JinjaValue value);

/// Sets the member with the key of `member`, or adds it as the last one.
void SetMember(JinjaMember member, std::vector<JinjaMember>& members);

/// What namespace() makes.
struct JinjaNamespace {
  std::vector<JinjaMember> members;
};

/// A macro as the template's statement has made it.
struct JinjaMacro {
  const JinjaStatement* statement = nullptr;
  std::size_t scope = 0;           ///< The index of the scope around the statement,
  std::uint64_t scope_serial = 0;  ///< and what tells it from later scopes at this index.
};

/// Python's ==.
bool Equal(const JinjaValue& a, const JinjaValue& b);
/// Python's order of two numbers or two texts. Throws JinjaFault for other values.
std::partial_ordering Compared(const JinjaValue& a, const JinjaValue& b);

}  // namespace scorecast::coordinator
