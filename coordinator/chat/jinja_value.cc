#include "coordinator/chat/jinja_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "coordinator/chat/jinja_fault.h"

namespace scorecast::coordinator {
namespace {

/// Bounds the recursion of what looks into a value, or frees it.
constexpr int kMaxValueDepth = 64;
constexpr std::int64_t kMaxValueWeight = std::int64_t{1} << 22;
constexpr std::int64_t kBytesOfWeight = 64;

void AddTo(JinjaSize& size, const JinjaValue& part) {
  const JinjaSize of_part = part.size();
  size.depth = std::max(size.depth, of_part.depth + 1);
  size.weight += of_part.weight;
  if (size.depth > kMaxValueDepth || size.weight > kMaxValueWeight) {
    throw JinjaFault("a list or an object is too large", {}, JinjaFault::Kind::kLimit);
  }
}

bool EqualMembers(const std::vector<std::pair<std::string, JinjaValue>>& a, const JinjaValue& b) {
  return a.size() == b.members()->size() && std::ranges::all_of(a, [&](const auto& member) {
           const JinjaValue* other = b.Find(member.first);
           return other != nullptr && Equal(member.second, *other);
         });
}

}  // namespace

JinjaValue JinjaValue::OfItems(std::vector<JinjaValue> items) {
  JinjaSize size{.depth = 1};
  for (const JinjaValue& item : items) {
    AddTo(size, item);
  }
  return JinjaValue(
      Variant(std::make_shared<const JinjaItems>(JinjaItems{std::move(items), size})));
}

JinjaValue JinjaValue::OfMembers(std::vector<std::pair<std::string, JinjaValue>> members) {
  JinjaSize size{.depth = 1};
  for (const auto& [key, value] : members) {
    size.weight += static_cast<std::int64_t>(key.size()) / kBytesOfWeight;
    AddTo(size, value);
  }
  return JinjaValue(
      Variant(std::make_shared<const JinjaMembers>(JinjaMembers{std::move(members), size})));
}

const std::vector<JinjaValue>* JinjaValue::items() const {
  return As<List>() ? &(*As<List>())->values : nullptr;
}

const std::vector<std::pair<std::string, JinjaValue>>* JinjaValue::members() const {
  return As<Object>() ? &(*As<Object>())->values : nullptr;
}

std::optional<std::int64_t> JinjaValue::integer() const {
  if (const bool* truth = As<bool>()) {
    return *truth ? 1 : 0;
  }
  return As<std::int64_t>() ? std::optional(*As<std::int64_t>()) : std::nullopt;
}

std::optional<double> JinjaValue::number() const {
  if (const std::optional<std::int64_t> whole = integer()) {
    return static_cast<double>(*whole);
  }
  return As<double>() ? std::optional(*As<double>()) : std::nullopt;
}

const JinjaValue* JinjaValue::Find(std::string_view key) const {
  const std::vector<std::pair<std::string, JinjaValue>>* all = members();
  if (JinjaNamespace* const* space = As<JinjaNamespace*>()) {
    all = &(*space)->members;
  }
  if (all == nullptr) {
    return nullptr;
  }
  const auto found = std::ranges::find(*all, key, &std::pair<std::string, JinjaValue>::first);
  return found == all->end() ? nullptr : &found->second;
}

bool JinjaValue::IsTrue() const {
  if (const std::optional<double> of_number = number()) {
    return *of_number != 0;
  }
  if (text() != nullptr) {
    return text()->size() > 0;
  }
  if (items() != nullptr) {
    return !items()->empty();
  }
  return members() != nullptr ? !members()->empty() : !is_undefined() && !is_none();
}

std::string JinjaValue::TypeName() const {
  static constexpr std::array kNames = {"undefined",   "none",     "a boolean", "an integer",
                                        "a number",    "a string", "a list",    "an object",
                                        "a namespace", "a loop",   "a macro",   "a function"};
  static_assert(kNames.size() == std::variant_size_v<Variant>);
  const Undefined* undefined = As<Undefined>();
  return undefined != nullptr && !undefined->name.empty()
             ? std::string(undefined->name) + ", which is undefined,"
             : kNames[value_.index()];
}

MarkedText JinjaValue::ToText() const {
  if (text() != nullptr) {
    return *text();
  }
  if (is_undefined()) {
    return {};
  }
  if (is_none()) {
    return MarkedText("None");
  }
  if (const bool* truth = As<bool>()) {
    return MarkedText(*truth ? "True" : "False");
  }
  if (const std::int64_t* integer = As<std::int64_t>()) {
    return MarkedText(std::to_string(*integer));
  }
  if (const double* number = As<double>()) {
    return MarkedText(PythonText(*number));
  }
  throw JinjaFault(TypeName() + " as text is not supported");
}

JinjaSize JinjaValue::size() const {
  if (text() != nullptr) {
    return {.weight = 1 + static_cast<std::int64_t>(text()->size()) / kBytesOfWeight};
  }
  if (const List* list = As<List>()) {
    return (*list)->size;
  }
  return As<Object>() ? (*As<Object>())->size : JinjaSize{};
}

void JinjaNamespace::Set(std::string_view name, JinjaValue value) {
  const auto found = std::ranges::find(members, name, &std::pair<std::string, JinjaValue>::first);
  if (found != members.end()) {
    found->second = std::move(value);
  } else {
    members.emplace_back(name, std::move(value));
  }
}

std::optional<JinjaValue> JinjaLoop::Attribute(std::string_view name) const {
  const std::vector<JinjaValue>& all = items->values;
  const auto at = static_cast<std::int64_t>(index);
  const auto length = static_cast<std::int64_t>(all.size());
  const std::pair<std::string_view, std::int64_t> counts[] = {
      {"index", at + 1},
      {"index0", at},
      {"revindex", length - at},
      {"revindex0", length - at - 1},
      {"length", length},
      {"depth", 1},
      {"depth0", 0},
  };
  for (const auto& [own, count] : counts) {
    if (name == own) {
      return JinjaValue::OfInteger(count);
    }
  }
  if (name == "first" || name == "last") {
    return JinjaValue::OfBool(name == "first" ? at == 0 : at + 1 == length);
  }
  if (name == "previtem") {
    return at == 0 ? JinjaValue() : all[index - 1];
  }
  if (name == "nextitem") {
    return at + 1 == length ? JinjaValue() : all[index + 1];
  }
  return std::nullopt;
}

bool Equal(const JinjaValue& a, const JinjaValue& b) {
  if (a.integer() && b.integer()) {
    return a.integer() == b.integer();
  }
  if (a.number() && b.number()) {
    return a.number() == b.number();
  }
  if (a.text() != nullptr && b.text() != nullptr) {
    return a.text()->text() == b.text()->text();
  }
  if (a.items() != nullptr && b.items() != nullptr) {
    return std::ranges::equal(*a.items(), *b.items(), Equal);
  }
  if (a.members() != nullptr && b.members() != nullptr) {
    return EqualMembers(*a.members(), b);
  }
  if (a.As<JinjaNamespace*>() != nullptr && b.As<JinjaNamespace*>() != nullptr) {
    return *a.As<JinjaNamespace*>() == *b.As<JinjaNamespace*>();
  }
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

bool Less(const JinjaValue& a, const JinjaValue& b) {
  if (a.integer() && b.integer()) {
    return *a.integer() < *b.integer();
  }
  if (a.number() && b.number()) {
    return *a.number() < *b.number();
  }
  if (a.text() != nullptr && b.text() != nullptr) {
    return a.text()->text() < b.text()->text();  // UTF-8 has the order of code points.
  }
  throw JinjaFault(a.TypeName() + " cannot be compared with " + b.TypeName());
}

std::string PythonText(double number) {
  if (!std::isfinite(number)) {
    return std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf";
  }
  std::array<char, 64> buffer;
  const auto scientific = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                        std::chars_format::scientific);
  const std::string shortest(buffer.data(), scientific.ptr);
  const int exponent = std::atoi(shortest.c_str() + shortest.find('e') + 1);
  if (exponent < -4 || exponent >= 16) {
    return shortest;
  }
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed);
  const std::string text(buffer.data(), fixed.ptr);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

}  // namespace scorecast::coordinator
