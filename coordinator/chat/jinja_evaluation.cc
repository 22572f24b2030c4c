// The values of expressions.

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_renderer.h"
#include "proto/base/one_line.h"

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
    constexpr std::int64_t kMostExact = std::int64_t{1} << 53;
    if (left > kMostExact || left < -kMostExact || right > kMostExact || right < -kMostExact) {
      throw JinjaFault("the operator / is not supported for integers above 2^53");
    }
    return JinjaValue::OfNumber(static_cast<double>(left) / static_cast<double>(right));
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

/// An operation of two numbers. Division and remainder are Python's: the remainder is exact, and
/// the quotient follows from it.
JinjaValue OfNumbers(const std::string& name, double left, double right) {
  if (name == "+") {
    return JinjaValue::OfNumber(left + right);
  }
  if (name == "-") {
    return JinjaValue::OfNumber(left - right);
  }
  if (name == "*") {
    return JinjaValue::OfNumber(left * right);
  }
  if (right == 0) {
    throw JinjaFault("a division by 0");
  }
  if (name == "/") {
    return JinjaValue::OfNumber(left / right);
  }
  double remainder = std::fmod(left, right);
  double quotient = (left - remainder) / right;
  if (remainder == 0) {
    remainder = std::copysign(0.0, right);
  } else if ((right < 0) != (remainder < 0)) {
    remainder += right;
    quotient -= 1;
  }
  if (name == "%") {
    return JinjaValue::OfNumber(remainder);
  }
  if (quotient == 0) {
    return JinjaValue::OfNumber(std::copysign(0.0, left / right));
  }
  const double floor = std::floor(quotient);
  return JinjaValue::OfNumber(quotient - floor > 0.5 ? floor + 1 : floor);
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
      return EvaluateList(expression, JinjaItemsKind::kList);
    case Kind::kTuple:
      return EvaluateList(expression, JinjaItemsKind::kTuple);
    case Kind::kObject:
      return EvaluateObject(expression);
    case Kind::kAttribute:
      return EvaluateAttribute(expression);
    case Kind::kItem: {
      const JinjaValue value = operand(0);
      return ItemOf(value, operand(1), runtime_);
    }
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
        return JinjaValue::OfNumber(-*value.number());
      }
      throw JinjaFault(value.TypeName() + " has no negative");
    }
    case Kind::kPositive: {
      const JinjaValue value = operand(0);
      if (!value.integer() && !value.number()) {
        throw JinjaFault("the operator + is not supported for " + value.TypeName());
      }
      return value.integer() ? JinjaValue::OfInteger(*value.integer()) : value;
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
  if (const JinjaFunction* function = FindJinjaGlobal(name.name)) {
    return JinjaValue(JinjaValue::Variant(function));
  }
  static constexpr std::array<std::string_view, 4> kOfJinja = {"cycler", "joiner", "lipsum",
                                                               "self"};
  if (std::ranges::find(kOfJinja, name.name) != kOfJinja.end()) {
    throw JinjaFault("the variable " + proto::Quoted(name.name) + " is not supported");
  }
  return JinjaValue(JinjaValue::Variant(JinjaValue::Undefined{name.name}));
}

JinjaValue JinjaRenderer::EvaluateList(const JinjaExpression& list, JinjaItemsKind kind) {
  runtime_.UseItems(list.operands.size());
  std::vector<JinjaValue> items;
  for (const JinjaExpression::Pointer& item : list.operands) {
    items.push_back(Evaluate(*item));
  }
  return JinjaValue::OfItems(std::move(items), kind);
}

JinjaValue JinjaRenderer::EvaluateObject(const JinjaExpression& object) {
  constexpr std::int64_t kMembersOfStep = 8;
  runtime_.UseItems(object.operands.size());
  std::vector<JinjaMember> members;
  for (std::size_t i = 0; i < object.operands.size(); i += 2) {
    const JinjaValue key = Evaluate(*object.operands[i]);
    if (key.text() == nullptr) {
      throw JinjaFault("the key of an object must be a string, not " + key.TypeName());
    }
    JinjaValue value = Evaluate(*object.operands[i + 1]);
    runtime_.Step(std::ssize(members) / kMembersOfStep);
    SetMember({*key.As<JinjaValue::Text>(), std::move(value)}, members);
  }
  return JinjaValue::OfMembers(std::move(members));
}

JinjaValue JinjaRenderer::EvaluateAttribute(const JinjaExpression& attribute) {
  JinjaValue found = AttributeOf(Evaluate(*attribute.operands[0]), attribute.name);
  return found.is_undefined()
             ? JinjaValue(JinjaValue::Variant(JinjaValue::Undefined{attribute.name}))
             : found;
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
  const bool has_slices = value.text() != nullptr ||
                          (value.items() != nullptr && !value.is_list(JinjaItemsKind::kView));
  if (!has_slices) {
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
  if (value.text() != nullptr) {
    return JinjaValue(std::move(text).WithMarkup(value.text()->is_markup()));
  }
  return JinjaValue::OfItems(std::move(part), (*value.As<JinjaValue::List>())->kind);
}

JinjaValue JinjaRenderer::EvaluateCall(const JinjaExpression& call) {
  if (call.kind == JinjaExpression::Kind::kCall &&
      (call.function == nullptr || FindVariable(call.name) != nullptr)) {
    return CallMacro(call);
  }
  std::vector<JinjaValue> arguments;
  for (const JinjaExpression::Pointer& argument : call.operands) {
    arguments.push_back(Evaluate(*argument));
  }
  JinjaKeywords keywords;
  for (const auto& [name, expression] : call.keywords) {
    keywords.emplace_back(name, Evaluate(*expression));
  }
  JinjaValue result = Apply(*call.function, std::move(arguments), std::move(keywords), runtime_);
  if (result.text() != nullptr) {
    runtime_.UseBytes(result.text()->size());
  }
  return result;
}

/// What is given of a macro's arguments, evaluated where it is called. The others are undefined.
JinjaRenderer::Variables JinjaRenderer::MacroArguments(const JinjaExpression& call,
                                                       const JinjaStatement& macro,
                                                       std::vector<bool>& is_given) {
  if (call.operands.size() > macro.parameters.size()) {
    throw JinjaFault("the macro " + call.name + " has too many arguments");
  }
  Variables arguments;
  for (const JinjaStatement::Parameter& parameter : macro.parameters) {
    arguments.emplace_back(parameter.name,
                           JinjaValue(JinjaValue::Variant(JinjaValue::Undefined{parameter.name})));
  }
  is_given.assign(arguments.size(), false);
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    arguments[i].second = Evaluate(*call.operands[i]);
    is_given[i] = true;
  }
  for (const auto& [name, value] : call.keywords) {
    const auto found = std::ranges::find(arguments, name, &Variables::value_type::first);
    const auto index = static_cast<std::size_t>(found - arguments.begin());
    if (found == arguments.end() || is_given[index]) {
      throw JinjaFault("the macro " + call.name + " has no argument " + name +
                       (found == arguments.end() ? "" : " that is not given already"));
    }
    found->second = Evaluate(*value);
    is_given[index] = true;
  }
  return arguments;
}

JinjaValue JinjaRenderer::CallMacro(const JinjaExpression& call) {
  const JinjaValue* variable = FindVariable(call.name);
  const JinjaMacro* const* found =
      variable != nullptr ? variable->As<const JinjaMacro*>() : nullptr;
  if (found == nullptr) {
    throw JinjaFault(call.name + " is no macro");
  }
  const JinjaMacro& macro = **found;
  std::vector<bool> is_given;
  Variables arguments = MacroArguments(call, *macro.statement, is_given);
  if (!IsOpen(macro.scope, macro.scope_serial)) {
    throw JinjaFault("a call of the macro " + call.name +
                     " behind the end of what it is defined in is not supported");
  }
  // A macro sees its arguments and what is around its definition. So do the defaults.
  const OpenScope scope(*this, macro.scope);
  scopes_.back().variables = std::move(arguments);
  for (std::size_t i = 0; i < is_given.size(); ++i) {
    const JinjaStatement::Parameter& parameter = macro.statement->parameters[i];
    if (!is_given[i] && parameter.default_value != nullptr) {
      Set(parameter.name, Evaluate(*parameter.default_value));
    }
  }
  return JinjaValue(TextOf(macro.statement->body));
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
  } else {
    const std::partial_ordering order = Compared(left, right);
    is_true = name == "<"    ? order < 0
              : name == "<=" ? order <= 0
              : name == ">"  ? order > 0
                             : order >= 0;
  }
  return JinjaValue::OfBool(is_true);
}

/// A text, as often as the integer says.
JinjaValue JinjaRenderer::Multiplied(const JinjaValue& left, const JinjaValue& right) {
  if (left.text() == nullptr && right.text() != nullptr) {
    return Multiplied(right, left);
  }
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
  return JinjaValue(std::move(text).WithMarkup(left.text()->is_markup()));
}

/// The sum of two texts. If one of them is Markup, what is not is escaped.
JinjaValue JinjaRenderer::Joined(const JinjaValue& left, const JinjaValue& right) {
  const MarkedText& first = *left.text();
  const MarkedText& second = *right.text();
  runtime_.UseBytes(first.size() + second.size());
  const bool is_markup = first.is_markup() || second.is_markup();
  MarkedText text = is_markup ? Escaped(first) : first;
  text.Append(is_markup ? Escaped(second) : second);
  return JinjaValue(std::move(text));
}

JinjaValue JinjaRenderer::EvaluateBinary(const JinjaExpression& binary) {
  const JinjaValue left = Evaluate(*binary.operands[0]);
  const JinjaValue right = Evaluate(*binary.operands[1]);
  const std::string& name = binary.name;
  if (name == "~") {
    const auto bytes_of = [](const JinjaValue& value) {
      return value.text() != nullptr ? value.text()->size() : 0;
    };
    runtime_.UseBytes(bytes_of(left) + bytes_of(right));
    MarkedText text = left.ToText().WithMarkup(false);
    text.Append(right.ToText());
    return JinjaValue(std::move(text));
  }
  if (name == "+" && left.text() != nullptr && right.text() != nullptr) {
    return Joined(left, right);
  }
  for (const JinjaItemsKind kind : {JinjaItemsKind::kList, JinjaItemsKind::kTuple}) {
    if (name == "+" && left.is_list(kind) && right.is_list(kind)) {
      runtime_.UseItems(left.items()->size() + right.items()->size());
      std::vector<JinjaValue> items = *left.items();
      items.insert(items.end(), right.items()->begin(), right.items()->end());
      return JinjaValue::OfItems(std::move(items), kind);
    }
  }
  if (left.integer() && right.integer()) {
    return OfIntegers(name, *left.integer(), *right.integer());
  }
  if (left.number() && right.number()) {
    return OfNumbers(name, *left.number(), *right.number());
  }
  if (name == "*" && (left.text() != nullptr || right.text() != nullptr)) {
    return Multiplied(left, right);
  }
  throw NoOperator(name, left, right);
}

}  // namespace scorecast::coordinator
