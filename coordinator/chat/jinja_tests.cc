#include <array>
#include <string>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_functions.h"

namespace scorecast::coordinator {
namespace {

bool IsInteger(const JinjaValue& value) { return value.As<std::int64_t>() != nullptr; }

bool IsSequence(const JinjaValue& value) {
  return value.text() != nullptr || value.items() != nullptr || value.members() != nullptr;
}

/// A test of one value.
template <auto is_true>
JinjaValue Test(const JinjaCall& call) {
  return JinjaValue::OfBool(is_true(call.At(0)));
}

/// A test of two values.
template <auto is_true>
JinjaValue TestWith(const JinjaCall& call) {
  return JinjaValue::OfBool(is_true(call.At(0), call.At(1)));
}

template <bool wanted>
JinjaValue EqualTest(const JinjaCall& call) {
  return JinjaValue::OfBool(IsEqual(call.At(0), call.At(1), call.runtime) == wanted);
}

JinjaValue IsIn(const JinjaCall& call) {
  return JinjaValue::OfBool(Contains(call.At(1), call.At(0), call.runtime));
}

std::int64_t IntegerOf(const JinjaValue& value) {
  if (!value.integer()) {
    throw JinjaFault("an integer is wanted, not " + value.TypeName());
  }
  return *value.integer();
}

bool IsDivisible(const JinjaValue& value, const JinjaValue& by) {
  const std::int64_t divisor = IntegerOf(by);
  if (divisor == 0) {
    throw JinjaFault("a division by 0");
  }
  return divisor == -1 || IntegerOf(value) % divisor == 0;
}

}  // namespace

const JinjaFunction* FindJinjaTest(std::string_view name) {
  using Value = const JinjaValue&;
  static const std::array tests = {
      JinjaFunction{"defined", {"value"}, 1, Test<[](Value v) { return !v.is_undefined(); }>},
      JinjaFunction{"undefined", {"value"}, 1, Test<[](Value v) { return v.is_undefined(); }>},
      JinjaFunction{"none", {"value"}, 1, Test<[](Value v) { return v.is_none(); }>},
      JinjaFunction{"string", {"value"}, 1, Test<[](Value v) { return v.text() != nullptr; }>},
      JinjaFunction{"mapping", {"value"}, 1, Test<[](Value v) { return v.members() != nullptr; }>},
      JinjaFunction{"iterable",
                    {"value"},
                    1,
                    Test<[](Value v) { return IsSequence(v) || v.is_undefined(); }>},
      JinjaFunction{"sequence",
                    {"value"},
                    1,
                    Test<[](Value v) { return IsSequence(v) || v.is_undefined(); }>},
      JinjaFunction{"boolean", {"value"}, 1, Test<[](Value v) { return v.As<bool>() != nullptr; }>},
      JinjaFunction{"integer", {"value"}, 1, Test<IsInteger>},
      JinjaFunction{"float", {"value"}, 1, Test<[](Value v) { return v.As<double>() != nullptr; }>},
      JinjaFunction{"number", {"value"}, 1, Test<[](Value v) { return v.number().has_value(); }>},
      JinjaFunction{"true",
                    {"value"},
                    1,
                    Test<[](Value v) { return v.As<bool>() != nullptr && *v.As<bool>(); }>},
      JinjaFunction{"false",
                    {"value"},
                    1,
                    Test<[](Value v) { return v.As<bool>() != nullptr && !*v.As<bool>(); }>},
      JinjaFunction{"odd", {"value"}, 1, Test<[](Value v) { return IntegerOf(v) % 2 != 0; }>},
      JinjaFunction{"even", {"value"}, 1, Test<[](Value v) { return IntegerOf(v) % 2 == 0; }>},
      JinjaFunction{"divisibleby", {"value", "num"}, 2, TestWith<IsDivisible>},
      JinjaFunction{"in", {"value", "seq"}, 2, IsIn},
      JinjaFunction{"equalto", {"value", "other"}, 2, EqualTest<true>},
      JinjaFunction{"eq", {"value", "other"}, 2, EqualTest<true>},
      JinjaFunction{"==", {"value", "other"}, 2, EqualTest<true>},
      JinjaFunction{"ne", {"value", "other"}, 2, EqualTest<false>},
      JinjaFunction{"!=", {"value", "other"}, 2, EqualTest<false>},
      JinjaFunction{"lt", {"value", "other"}, 2, TestWith<Less>},
      JinjaFunction{
          "gt", {"value", "other"}, 2, TestWith<[](Value a, Value b) { return Less(b, a); }>},
  };
  return FindIn(tests, name);
}

bool Contains(const JinjaValue& all, const JinjaValue& one, JinjaRuntime& runtime) {
  if (const MarkedText* text = all.text()) {
    if (one.text() == nullptr) {
      throw JinjaFault("a string has only strings in it, not " + one.TypeName());
    }
    runtime.UseSearch(*text, *one.text());
    return text->text().find(one.text()->text()) != std::string::npos;
  }
  if (all.members() != nullptr || all.As<JinjaNamespace*>() != nullptr) {
    return one.text() != nullptr && all.Find(one.text()->text()) != nullptr;
  }
  const JinjaValue::List items = ItemsOf(all, runtime);
  for (const JinjaValue& item : items->values) {
    if (IsEqual(item, one, runtime)) {
      return true;
    }
  }
  return false;
}

}  // namespace scorecast::coordinator
