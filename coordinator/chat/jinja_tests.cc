#include <array>
#include <string>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_functions.h"

namespace scorecast::coordinator {
namespace {

/// What len() and brackets work for.
bool IsSequence(const JinjaValue& value) {
  return value.text() != nullptr || value.is_object() || value.is_undefined() ||
         (value.items() != nullptr && !value.is_list(JinjaItemsKind::kView));
}

bool IsIterable(const JinjaValue& value) {
  return IsSequence(value) || value.items() != nullptr || value.As<JinjaIterator*>() != nullptr ||
         value.As<JinjaLoop*>() != nullptr;
}

bool IsNumber(const JinjaValue& value) { return value.number() || value.is_integer(); }

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
  const std::int64_t dividend = IntegerOf(value);
  const std::int64_t divisor = IntegerOf(by);
  if (divisor == 0) {
    throw JinjaFault("a division by 0");
  }
  return divisor == -1 || dividend % divisor == 0;
}

using Value = const JinjaValue&;

bool IsLess(Value a, Value b) { return Compared(a, b) < 0; }
bool IsAtMost(Value a, Value b) { return Compared(a, b) <= 0; }
bool IsGreater(Value a, Value b) { return Compared(a, b) > 0; }
bool IsAtLeast(Value a, Value b) { return Compared(a, b) >= 0; }

JinjaFunction Unary(std::string_view name, JinjaValue (*apply)(const JinjaCall&)) {
  return {name, {"value"}, 1, apply};
}

JinjaFunction Operator(std::string_view name, JinjaValue (*apply)(const JinjaCall&)) {
  return {name, {"value", "other"}, 2, apply, /*takes_names=*/false};
}

}  // namespace

const JinjaFunction* FindJinjaTest(std::string_view name) {
  static const std::array tests = {
      Unary("defined", Test<[](Value v) { return !v.is_undefined(); }>),
      Unary("undefined", Test<[](Value v) { return v.is_undefined(); }>),
      Unary("none", Test<[](Value v) { return v.is_none(); }>),
      Unary("string", Test<[](Value v) { return v.text() != nullptr; }>),
      Unary("mapping", Test<[](Value v) { return v.is_object(); }>),
      Unary("iterable", Test<IsIterable>),
      Unary("sequence", Test<IsSequence>),
      Unary("boolean", Test<[](Value v) { return v.As<bool>() != nullptr; }>),
      Unary("integer", Test<[](Value v) { return v.is_integer(); }>),
      Unary("float", Test<[](Value v) { return v.As<double>() != nullptr; }>),
      Unary("number", Test<IsNumber>),
      Unary("true", Test<[](Value v) { return v.As<bool>() != nullptr && *v.As<bool>(); }>),
      Unary("false", Test<[](Value v) { return v.As<bool>() != nullptr && !*v.As<bool>(); }>),
      Unary("odd", Test<[](Value v) { return IntegerOf(v) % 2 != 0; }>),
      Unary("even", Test<[](Value v) { return IntegerOf(v) % 2 == 0; }>),
      JinjaFunction{"divisibleby", {"value", "num"}, 2, TestWith<IsDivisible>},
      JinjaFunction{"in", {"value", "seq"}, 2, IsIn},
      Operator("equalto", EqualTest<true>),
      Operator("eq", EqualTest<true>),
      Operator("==", EqualTest<true>),
      Operator("ne", EqualTest<false>),
      Operator("!=", EqualTest<false>),
      Operator("lt", TestWith<IsLess>),
      Operator("lessthan", TestWith<IsLess>),
      Operator("<", TestWith<IsLess>),
      Operator("le", TestWith<IsAtMost>),
      Operator("<=", TestWith<IsAtMost>),
      Operator("gt", TestWith<IsGreater>),
      Operator("greaterthan", TestWith<IsGreater>),
      Operator(">", TestWith<IsGreater>),
      Operator("ge", TestWith<IsAtLeast>),
      Operator(">=", TestWith<IsAtLeast>),
  };
  return FindIn(tests, name);
}

}  // namespace scorecast::coordinator
