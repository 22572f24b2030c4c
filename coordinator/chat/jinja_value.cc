#include "coordinator/chat/jinja_value.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "coordinator/chat/jinja_fault.h"
#include "proto/base/one_line.h"
#include "proto/base/python_text.h"

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

JinjaFault LeftOut(const std::string& name) {
  return JinjaFault("the member " + proto::Quoted(name) + " of a message was left out", {},
                    JinjaFault::Kind::kLeftOut);
}

bool EqualMembers(const std::vector<JinjaMember>& a, const JinjaValue& b) {
  return a.size() == b.members()->size() && std::ranges::all_of(a, [&](const JinjaMember& member) {
           const JinjaValue* other = b.Find(member.name());
           return other != nullptr && Equal(member.value, *other);
         });
}

bool EqualLists(const JinjaItems& a, const JinjaItems& b) {
  if (a.kind != b.kind) {
    return false;
  }
  if (a.kind == JinjaItemsKind::kView) {
    throw JinjaFault("a comparison of two views of objects is not supported");
  }
  return std::ranges::equal(a.values, b.values, Equal);
}

/// Whether both are the same thing of the rendering or of the template.
template <typename Pointer>
bool IsSame(const JinjaValue& a, const JinjaValue& b) {
  const Pointer* const own = a.As<Pointer>();
  const Pointer* const other = b.As<Pointer>();
  return own != nullptr && other != nullptr && *own == *other;
}

/// The order of an integer and another number, neither of which is rounded.
std::partial_ordering ComparedWith(std::int64_t integer, double number) {
  constexpr double kBeyond = 9223372036854775808.0;
  if (std::isnan(number)) {
    return std::partial_ordering::unordered;
  }
  if (number >= kBeyond || number < -kBeyond) {
    return number > 0 ? std::partial_ordering::less : std::partial_ordering::greater;
  }
  const double whole = std::trunc(number);
  const auto other = static_cast<std::int64_t>(whole);
  return integer != other ? std::partial_ordering(integer <=> other) : 0.0 <=> number - whole;
}

/// The order of two numbers; absent for other values.
std::optional<std::partial_ordering> ComparedNumbers(const JinjaValue& a, const JinjaValue& b) {
  if (a.integer() && b.integer()) {
    return *a.integer() <=> *b.integer();
  }
  if (a.integer() && b.number()) {
    return ComparedWith(*a.integer(), *b.number());
  }
  if (a.number() && b.integer()) {
    return 0 <=> ComparedWith(*b.integer(), *a.number());
  }
  return a.number() && b.number() ? std::optional(*a.number() <=> *b.number()) : std::nullopt;
}

/// Whether an integer that does not fit into 64 bits is the other value.
bool EqualLong(const std::string& digits, const JinjaValue& other) {
  if (other.As<double>() != nullptr) {
    throw JinjaFault("a comparison of an integer of more than 64 bits with " + other.TypeName() +
                     " is not supported");
  }
  const auto* own = other.As<JinjaValue::LongInteger>();
  return own != nullptr && *own->digits == digits;
}

}  // namespace

JinjaValue JinjaValue::OfItems(std::vector<JinjaValue> items, JinjaItemsKind kind) {
  JinjaSize size{.depth = 1};
  for (const JinjaValue& item : items) {
    AddTo(size, item);
  }
  return JinjaValue(
      Variant(std::make_shared<const JinjaItems>(JinjaItems{std::move(items), size, kind})));
}

JinjaValue JinjaValue::OfMembers(std::vector<JinjaMember> members, JinjaNames left_out) {
  JinjaSize size{.depth = 1};
  for (const JinjaMember& member : members) {
    size.weight += static_cast<std::int64_t>(member.name().size()) / kBytesOfWeight;
    AddTo(size, member.value);
  }
  return JinjaValue(Variant(std::make_shared<const JinjaMembers>(
      JinjaMembers{std::move(members), size, std::move(left_out)})));
}

const std::vector<JinjaValue>* JinjaValue::items() const {
  return As<List>() ? &(*As<List>())->values : nullptr;
}

bool JinjaValue::is_list(JinjaItemsKind kind) const {
  return As<List>() != nullptr && (*As<List>())->kind == kind;
}

const std::vector<JinjaMember>* JinjaValue::members() const {
  if (!is_object()) {
    return nullptr;
  }
  const JinjaMembers& object = **As<Object>();
  if (!object.left_out.empty()) {
    throw LeftOut(*object.left_out.begin());
  }
  return &object.values;
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
  const std::vector<JinjaMember>* all = nullptr;
  if (const Object* object = As<Object>()) {
    all = &(*object)->values;
  } else if (JinjaNamespace* const* space = As<JinjaNamespace*>()) {
    all = &(*space)->members;
  } else {
    return nullptr;
  }
  const auto found = std::ranges::find(*all, key, &JinjaMember::name);
  if (found != all->end()) {
    return &found->value;
  }
  if (is_object() && (*As<Object>())->left_out.contains(key)) {
    throw LeftOut(std::string(key));
  }
  return nullptr;
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
  return is_object() ? !(*As<Object>())->values.empty() : !is_undefined() && !is_none();
}

std::string JinjaValue::TypeName() const {
  static constexpr std::array kNames = {
      "undefined",   "none",        "a boolean",
      "an integer",  "a number",    "an integer of more than 64 bits",
      "a string",    "a list",      "an object",
      "an iterator", "a namespace", "a loop",
      "a macro",     "a function"};
  static constexpr std::array kListNames = {"a list", "a tuple", "a range", "a view of an object"};
  static_assert(kNames.size() == std::variant_size_v<Variant>);
  if (const List* list = As<List>()) {
    return kListNames[static_cast<std::size_t>((*list)->kind)];
  }
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
  if (const LongInteger* integer = As<LongInteger>()) {
    return MarkedText(*integer->digits);
  }
  if (const double* number = As<double>()) {
    return MarkedText(proto::PythonText(*number));
  }
  throw JinjaFault(TypeName() + " as text is not supported");
}

JinjaSize JinjaValue::size() const {
  if (text() != nullptr) {
    return {.weight = 1 + static_cast<std::int64_t>(text()->size()) / kBytesOfWeight};
  }
  if (const LongInteger* integer = As<LongInteger>()) {
    return {.weight = 1 + static_cast<std::int64_t>(integer->digits->size()) / kBytesOfWeight};
  }
  if (const List* list = As<List>()) {
    return (*list)->size;
  }
  return As<Object>() ? (*As<Object>())->size : JinjaSize{};
}

JinjaMember MemberOfTemplate(std::string key, JinjaValue value) {
  return {std::make_shared<const MarkedText>(std::move(key)), std::move(value)};
}

void SetMember(JinjaMember member, std::vector<JinjaMember>& members) {
  const auto found = std::ranges::find(members, member.name(), &JinjaMember::name);
  if (found != members.end()) {
    found->value = std::move(member.value);
  } else {
    members.push_back(std::move(member));
  }
}

bool Equal(const JinjaValue& a, const JinjaValue& b) {
  if (const std::optional<std::partial_ordering> order = ComparedNumbers(a, b)) {
    return *order == 0;
  }
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (const auto* integer = one->As<JinjaValue::LongInteger>()) {
      return EqualLong(*integer->digits, *other);
    }
  }
  if (a.text() != nullptr && b.text() != nullptr) {
    return a.text()->text() == b.text()->text();
  }
  if (a.items() != nullptr && b.items() != nullptr) {
    return EqualLists(**a.As<JinjaValue::List>(), **b.As<JinjaValue::List>());
  }
  if (a.is_object() && b.is_object()) {
    return EqualMembers(*a.members(), b);
  }
  return IsSame<JinjaNamespace*>(a, b) || IsSame<JinjaIterator*>(a, b) ||
         IsSame<JinjaLoop*>(a, b) || IsSame<const JinjaMacro*>(a, b) ||
         IsSame<const JinjaFunction*>(a, b) || (a.is_none() && b.is_none()) ||
         (a.is_undefined() && b.is_undefined());
}

std::partial_ordering Compared(const JinjaValue& a, const JinjaValue& b) {
  if (const std::optional<std::partial_ordering> order = ComparedNumbers(a, b)) {
    return *order;
  }
  if (a.text() != nullptr && b.text() != nullptr) {
    return a.text()->text() <=> b.text()->text();  // UTF-8 has the order of code points.
  }
  throw JinjaFault(a.TypeName() + " cannot be compared with " + b.TypeName());
}

}  // namespace scorecast::coordinator
