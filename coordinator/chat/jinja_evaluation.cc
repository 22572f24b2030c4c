// The values of expressions.

#include <algorithm>
#include <cmath>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_renderer.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

JinjaFault NoOperator(const std::string& name, const JinjaValue& left, const JinjaValue& right) {
  return JinjaFault("the operator " + name + " is not supported for " + left.TypeName() + " and " +
                    right.TypeName());
}

/// An operation of two integers. Division and remainder are Python's: rounded down.
JinjaValue OfIntegers(const std::string& name, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  bool overflows = false;
  if (name == "+") {
    overflows = __builtin_add_overflow(left, right, &result);
  } else if (name == "-") {
    overflows = __builtin_sub_overflow(left, right, &result);
  } else if (name == "*") {
    overflows = __builtin_mul_overflow(left, right, &result);
  } else if (right == 0) {
    throw JinjaFault("a division by 0");
  } else if (name == "/") {
    return JinjaValue(JinjaValue::Variant(static_cast<double>(left) / static_cast<double>(right)));
  } else if (right == -1) {
    overflows = name == "//" && __builtin_sub_overflow(std::int64_t{0}, left, &result);
  } else {
    const std::int64_t remainder = left % right;
    const bool rounds_down = remainder != 0 && (remainder < 0) != (right < 0);
    result =
        name == "//" ? left / right - (rounds_down ? 1 : 0) : remainder + (rounds_down ? right : 0);
  }
  if (overflows) {
    throw JinjaFault("an integer is too large", {}, JinjaFault::Kind::kLimit);
  }
  return JinjaValue::OfInteger(result);
}

JinjaValue OfNumbers(const std::string& name, double left, double right) {
  if (name == "+") {
    return JinjaValue(JinjaValue::Variant(left + right));
  }
  if (name == "-") {
    return JinjaValue(JinjaValue::Variant(left - right));
  }
  if (name == "*") {
    return JinjaValue(JinjaValue::Variant(left * right));
  }
  if (right == 0) {
    throw JinjaFault("a division by 0");
  }
  if (name == "/") {
    return JinjaValue(JinjaValue::Variant(left / right));
  }
  const double floor = std::floor(left / right);
  return JinjaValue(JinjaValue::Variant(name == "//" ? floor : left - floor * right));
}

/// The indices of a slice of `length` items, as Python has them. `step` is not 0.
std::vector<std::size_t> SliceIndices(std::optional<std::int64_t> begin,
                                      std::optional<std::int64_t> end, std::int64_t step,
                                      std::int64_t length) {
  const std::int64_t least = step > 0 ? 0 : -1;
  const std::int64_t most = step > 0 ? length : length - 1;
  const auto bound = [&](const std::optional<std::int64_t>& given, std::int64_t if_absent) {
    if (!given) {
      return if_absent;
    }
    const std::int64_t clamped = std::clamp(*given, -length - 1, length + 1);
    return std::clamp(clamped < 0 ? clamped + length : clamped, least, most);
  };
  const std::int64_t first = bound(begin, step > 0 ? least : most);
  const std::int64_t last = bound(end, step > 0 ? most : least);
  const std::int64_t stride = std::clamp(step, -length - 1, length + 1);
  std::vector<std::size_t> indices;
  for (std::int64_t i = first; step > 0 ? i < last : i > last; i += stride) {
    indices.push_back(static_cast<std::size_t>(i));
  }
  return indices;
}

/// The item at an index, which counts from the end if it is negative; undefined if there is none.
JinjaValue ItemAt(const std::vector<JinjaValue>& items, std::int64_t index) {
  const auto length = static_cast<std::int64_t>(items.size());
  if (index < -length || index >= length) {
    return JinjaValue();
  }
  return items[static_cast<std::size_t>(index < 0 ? index + length : index)];
}

}  // namespace

JinjaValue JinjaRenderer::Evaluate(const JinjaExpression& expression) {
  try {
    const JinjaRuntime::Level level(runtime_);
    runtime_.Step();
    return EvaluateKind(expression);
  } catch (JinjaFault& fault) {
    if (fault.place.line == 0) {
      fault.place = expression.place;
    }
    throw;
  }
}

JinjaValue JinjaRenderer::EvaluateKind(const JinjaExpression& expression) {
  using Kind = JinjaExpression::Kind;
  const auto operand = [&](std::size_t i) { return Evaluate(*expression.operands[i]); };
  switch (expression.kind) {
    case Kind::kLiteral:
      return expression.literal;
    case Kind::kName:
      return EvaluateName(expression);
    case Kind::kList:
      return EvaluateList(expression);
    case Kind::kObject:
      return EvaluateObject(expression);
    case Kind::kAttribute:
      return EvaluateAttribute(expression);
    case Kind::kItem:
      return EvaluateItem(expression);
    case Kind::kSlice:
      return EvaluateSlice(expression);
    case Kind::kCall:
    case Kind::kMethod:
    case Kind::kFilter:
    case Kind::kTest:
      return EvaluateCall(expression);
    case Kind::kNot:
      return JinjaValue::OfBool(!operand(0).IsTrue());
    case Kind::kNegative: {
      const JinjaValue value = operand(0);
      if (value.integer()) {
        return OfIntegers("-", 0, *value.integer());
      }
      if (value.number()) {
        return OfNumbers("-", 0, *value.number());
      }
      throw JinjaFault(value.TypeName() + " has no negative");
    }
    case Kind::kAnd: {
      JinjaValue left = operand(0);
      return left.IsTrue() ? operand(1) : std::move(left);
    }
    case Kind::kOr: {
      JinjaValue left = operand(0);
      return left.IsTrue() ? std::move(left) : operand(1);
    }
    case Kind::kChoice:
      if (operand(0).IsTrue()) {
        return operand(1);
      }
      return expression.operands[2] != nullptr ? operand(2) : JinjaValue();
    case Kind::kCompare:
      return EvaluateCompare(expression);
    case Kind::kBinary:
      return EvaluateBinary(expression);
  }
  return JinjaValue();
}

JinjaValue JinjaRenderer::EvaluateName(const JinjaExpression& name) const {
  if (const JinjaValue* value = FindVariable(name.name)) {
    return *value;
  }
  const JinjaFunction* function = FindJinjaGlobal(name.name);
  return JinjaValue(function != nullptr ? JinjaValue::Variant(function)
                                        : JinjaValue::Variant(JinjaValue::Undefined{name.name}));
}

JinjaValue JinjaRenderer::EvaluateList(const JinjaExpression& list) {
  runtime_.UseItems(list.operands.size());
  std::vector<JinjaValue> items;
  for (const JinjaExpression::Pointer& item : list.operands) {
    items.push_back(Evaluate(*item));
  }
  return JinjaValue::OfItems(std::move(items));
}

JinjaValue JinjaRenderer::EvaluateObject(const JinjaExpression& object) {
  runtime_.UseItems(object.operands.size());
  JinjaNamespace members;
  for (std::size_t i = 0; i < object.operands.size(); i += 2) {
    const JinjaValue key = Evaluate(*object.operands[i]);
    if (key.text() == nullptr) {
      throw JinjaFault("the key of an object must be a string, not " + key.TypeName());
    }
    members.Set(key.text()->text(), Evaluate(*object.operands[i + 1]));
  }
  return JinjaValue::OfMembers(std::move(members.members));
}

JinjaValue JinjaRenderer::EvaluateAttribute(const JinjaExpression& attribute) {
  const JinjaValue value = Evaluate(*attribute.operands[0]);
  if (const JinjaLoop* const* loop = value.As<const JinjaLoop*>()) {
    if (const std::optional<JinjaValue> found = (*loop)->Attribute(attribute.name)) {
      return *found;
    }
    throw JinjaFault("loop." + attribute.name + " is not supported");
  }
  if (value.is_undefined()) {
    throw JinjaFault(value.TypeName() + " has no attribute " + attribute.name);
  }
  const JinjaValue* found = value.Find(attribute.name);
  return found != nullptr ? *found
                          : JinjaValue(JinjaValue::Variant(JinjaValue::Undefined{attribute.name}));
}

JinjaValue JinjaRenderer::EvaluateItem(const JinjaExpression& item) {
  const JinjaValue value = Evaluate(*item.operands[0]);
  const JinjaValue key = Evaluate(*item.operands[1]);
  if (value.is_undefined()) {
    throw JinjaFault(value.TypeName() + " has no items");
  }
  if (key.integer() && value.items() != nullptr) {
    return ItemAt(*value.items(), *key.integer());
  }
  if (key.integer() && value.text() != nullptr) {
    return ItemAt(ItemsOf(value, runtime_)->values, *key.integer());
  }
  const JinjaValue* found = key.text() != nullptr ? value.Find(key.text()->text()) : nullptr;
  return found != nullptr ? *found : JinjaValue();
}

std::optional<std::int64_t> JinjaRenderer::Bound(const JinjaExpression::Pointer& expression) {
  if (expression == nullptr) {
    return std::nullopt;
  }
  const JinjaValue value = Evaluate(*expression);
  if (value.is_none()) {
    return std::nullopt;
  }
  if (!value.integer()) {
    throw JinjaFault("a bound of a slice must be an integer, not " + value.TypeName());
  }
  return value.integer();
}

JinjaValue JinjaRenderer::EvaluateSlice(const JinjaExpression& slice) {
  const JinjaValue value = Evaluate(*slice.operands[0]);
  const std::optional<std::int64_t> begin = Bound(slice.operands[1]);
  const std::optional<std::int64_t> end = Bound(slice.operands[2]);
  const std::int64_t step = Bound(slice.operands[3]).value_or(1);
  if (step == 0) {
    throw JinjaFault("the step of a slice must not be 0");
  }
  if (value.text() == nullptr && value.items() == nullptr) {
    throw JinjaFault(value.TypeName() + " has no slices");
  }
  const JinjaValue::List all = ItemsOf(value, runtime_);
  const std::vector<std::size_t> indices =
      SliceIndices(begin, end, step, static_cast<std::int64_t>(all->values.size()));
  runtime_.UseItems(indices.size());
  std::vector<JinjaValue> part;
  MarkedText text;
  for (const std::size_t i : indices) {
    if (value.text() != nullptr) {
      text.Append(*all->values[i].text());
    } else {
      part.push_back(all->values[i]);
    }
  }
  return value.text() != nullptr ? JinjaValue(std::move(text))
                                 : JinjaValue::OfItems(std::move(part));
}

JinjaValue JinjaRenderer::EvaluateCall(const JinjaExpression& call) {
  if (call.kind == JinjaExpression::Kind::kCall) {
    const JinjaValue* variable = FindVariable(call.name);
    if (call.function == nullptr || variable != nullptr) {
      return CallMacro(call);
    }
  }
  const JinjaFunction& function = *call.function;
  JinjaCall bound{{}, {}, runtime_};
  for (const JinjaExpression::Pointer& argument : call.operands) {
    bound.arguments.emplace_back(Evaluate(*argument));
  }
  for (const auto& [name, expression] : call.keywords) {
    JinjaValue value = Evaluate(*expression);
    const auto parameter = static_cast<std::size_t>(std::ranges::find(function.parameters, name) -
                                                    function.parameters.begin());
    if (parameter == function.parameters.size()) {
      bound.others.emplace_back(name, std::move(value));
      continue;
    }
    bound.arguments.resize(std::max(bound.arguments.size(), parameter + 1));
    bound.arguments[parameter] = std::move(value);
  }
  JinjaValue result = function.apply(bound);
  if (result.text() != nullptr) {
    runtime_.UseBytes(result.text()->size());
  }
  return result;
}

JinjaValue JinjaRenderer::CallMacro(const JinjaExpression& call) {
  const JinjaValue* variable = FindVariable(call.name);
  const JinjaStatement* const* found =
      variable != nullptr ? variable->As<const JinjaStatement*>() : nullptr;
  if (found == nullptr) {
    throw JinjaFault(call.name + " is no macro");
  }
  const JinjaStatement& macro = **found;
  if (call.operands.size() > macro.parameters.size()) {
    throw JinjaFault("the macro " + call.name + " has too many arguments");
  }
  Variables arguments;
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const JinjaStatement::Parameter& parameter = macro.parameters[i];
    const auto keyword = std::ranges::find(
        call.keywords, parameter.name, &std::pair<std::string, JinjaExpression::Pointer>::first);
    JinjaValue value;
    if (i < call.operands.size()) {
      value = Evaluate(*call.operands[i]);
    } else if (keyword != call.keywords.end()) {
      value = Evaluate(*keyword->second);
    } else if (parameter.default_value != nullptr) {
      value = Evaluate(*parameter.default_value);
    }
    arguments.emplace_back(parameter.name, std::move(value));
  }
  for (const auto& [name, value] : call.keywords) {
    if (std::ranges::find(macro.parameters, name, &JinjaStatement::Parameter::name) ==
        macro.parameters.end()) {
      throw JinjaFault("the macro " + call.name + " has no argument " + name);
    }
  }
  // A macro sees its arguments and the template's own variables.
  const std::size_t before = std::exchange(first_scope_, scopes_.size());
  scopes_.push_back(std::move(arguments));
  MarkedText text = TextOf(macro.body);
  scopes_.pop_back();
  first_scope_ = before;
  return JinjaValue(std::move(text));
}

JinjaValue JinjaRenderer::EvaluateCompare(const JinjaExpression& comparison) {
  const JinjaValue left = Evaluate(*comparison.operands[0]);
  const JinjaValue right = Evaluate(*comparison.operands[1]);
  const std::string& name = comparison.name;
  bool is_true = false;
  if (name == "==" || name == "!=") {
    is_true = IsEqual(left, right, runtime_) == (name == "==");
  } else if (name == "in" || name == "not in") {
    is_true = Contains(right, left, runtime_) == (name == "in");
  } else if (name == "<" || name == ">=") {
    is_true = Less(left, right) == (name == "<");
  } else {
    is_true = Less(right, left) == (name == ">");
  }
  return JinjaValue::OfBool(is_true);
}

JinjaValue JinjaRenderer::Multiplied(const JinjaValue& left, const JinjaValue& right) {
  if (left.text() == nullptr || !right.integer()) {
    throw NoOperator("*", left, right);
  }
  const std::int64_t times = std::max<std::int64_t>(*right.integer(), 0);
  MarkedText text;
  for (std::int64_t i = 0; i < times && left.text()->size() > 0; ++i) {
    runtime_.Step();
    runtime_.UseBytes(left.text()->size());
    text.Append(*left.text());
  }
  return JinjaValue(std::move(text));
}

JinjaValue JinjaRenderer::EvaluateBinary(const JinjaExpression& binary) {
  const JinjaValue left = Evaluate(*binary.operands[0]);
  const JinjaValue right = Evaluate(*binary.operands[1]);
  const std::string& name = binary.name;
  const bool are_texts = left.text() != nullptr && right.text() != nullptr;
  if (name == "~" || (name == "+" && are_texts)) {
    const auto bytes_of = [](const JinjaValue& value) {
      return value.text() != nullptr ? value.text()->size() : 0;
    };
    runtime_.UseBytes(bytes_of(left) + bytes_of(right));
    MarkedText text = left.ToText();
    if (right.text() != nullptr) {
      text.Append(*right.text());
    } else {
      text.Append(right.ToText());
    }
    return JinjaValue(std::move(text));
  }
  if (name == "+" && left.items() != nullptr && right.items() != nullptr) {
    runtime_.UseItems(left.items()->size() + right.items()->size());
    std::vector<JinjaValue> items = *left.items();
    items.insert(items.end(), right.items()->begin(), right.items()->end());
    return JinjaValue::OfItems(std::move(items));
  }
  if (left.integer() && right.integer()) {
    return OfIntegers(name, *left.integer(), *right.integer());
  }
  if (left.number() && right.number()) {
    return OfNumbers(name, *left.number(), *right.number());
  }
  return name == "*" ? Multiplied(left, right) : throw NoOperator(name, left, right);
}

}  // namespace scorecast::coordinator
