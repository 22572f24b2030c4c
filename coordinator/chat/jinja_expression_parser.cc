#include "coordinator/chat/jinja_expression_parser.h"

#include <algorithm>
#include <array>
#include <span>

#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

/// Bounds the recursion of the parser, and of what frees and evaluates expressions.
constexpr int kMaxNesting = 100;

bool IsOneOf(std::span<const std::string_view> all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

}  // namespace

JinjaExpressionParser::Nesting::Nesting(JinjaExpressionParser& parser) : parser_(parser) {
  if (parser_.depth_ >= kMaxNesting) {
    parser_.Fail("the template is nested too deeply");
  }
  ++parser_.depth_;
}

void JinjaExpressionParser::Expect(TokenKind kind, std::string_view what) {
  if (Next().kind != kind) {
    Unexpected(what);
  }
  Take();
}

void JinjaExpressionParser::ExpectOperator(std::string_view text) {
  if (!SkipOperator(text)) {
    Unexpected(proto::Quoted(text));
  }
}

std::string JinjaExpressionParser::ExpectName(std::string_view what) {
  if (Next().kind != TokenKind::kName) {
    Unexpected(what);
  }
  return Take().text;
}

void JinjaExpressionParser::Unexpected(std::string_view wanted) const {
  const JinjaToken& token = Next();
  std::string there = proto::Quoted(token.text);
  switch (token.kind) {
    case TokenKind::kEnd:
      there = "the template's end";
      break;
    case TokenKind::kTagEnd:
    case TokenKind::kOutputEnd:
      there = token.kind == TokenKind::kTagEnd ? "\"%}\"" : "\"}}\"";
      break;
    default:
      break;
  }
  Fail("expected " + std::string(wanted) + ", not " + there);
}

bool JinjaExpressionParser::IsSpecialInMacros(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kNames = {"caller", "kwargs", "varargs"};
  return IsOneOf(kNames, name);
}

JinjaExpression::Pointer JinjaExpressionParser::Make(Kind kind, JinjaPlace place,
                                                     std::string name) {
  auto expression = std::make_unique<JinjaExpression>();
  expression->kind = kind;
  expression->place = place;
  expression->name = std::move(name);
  return expression;
}

void JinjaExpressionParser::Adopt(JinjaExpression& expression, Pointer operand) {
  if (operand != nullptr) {
    expression.depth = std::max(expression.depth, operand->depth + 1);
    if (expression.depth > kMaxNesting) {
      throw JinjaFault("the expression is nested too deeply", expression.place);
    }
  }
  expression.operands.push_back(std::move(operand));
}

JinjaExpression::Pointer JinjaExpressionParser::ParseExpression(bool has_choice) {
  const Nesting nesting(*this);
  Pointer value = ParseOr();
  while (has_choice && IsName("if")) {
    Pointer choice = Make(Kind::kChoice, Take().place);
    Adopt(*choice, ParseOr());
    Adopt(*choice, std::move(value));
    Adopt(*choice, SkipName("else") ? ParseExpression() : nullptr);
    value = std::move(choice);
  }
  return value;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseExpressions(bool has_choice) {
  Pointer first = ParseExpression(has_choice);
  return IsOperator(",") ? ParseTuple(std::move(first), has_choice) : std::move(first);
}

/// A tuple up to the end of what it stands in; a comma may be the last.
JinjaExpression::Pointer JinjaExpressionParser::ParseTuple(Pointer first, bool has_choice) {
  Pointer tuple = Make(Kind::kTuple, first->place);
  Adopt(*tuple, std::move(first));
  while (SkipOperator(",")) {
    if (Next().kind == TokenKind::kTagEnd || Next().kind == TokenKind::kOutputEnd ||
        IsOperator(")")) {
      break;
    }
    Adopt(*tuple, ParseExpression(has_choice));
  }
  return tuple;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseOr() {
  Pointer left = ParseAnd();
  while (IsName("or")) {
    Pointer both = Make(Kind::kOr, Take().place);
    Adopt(*both, std::move(left));
    Adopt(*both, ParseAnd());
    left = std::move(both);
  }
  return left;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseAnd() {
  Pointer left = ParseNot();
  while (IsName("and")) {
    Pointer both = Make(Kind::kAnd, Take().place);
    Adopt(*both, std::move(left));
    Adopt(*both, ParseNot());
    left = std::move(both);
  }
  return left;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseNot() {
  const Nesting nesting(*this);
  if (!IsName("not")) {
    return ParseComparison();
  }
  Pointer opposite = Make(Kind::kNot, Take().place);
  Adopt(*opposite, ParseNot());
  return opposite;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseComparison() {
  static constexpr std::array<std::string_view, 6> kComparisons = {
      "==", "!=", "<=", ">=", "<", ">"};
  Pointer left = ParseBinary(0);
  for (int comparisons = 0;; ++comparisons) {
    const JinjaToken& token = Next();
    std::string name;
    if (token.kind == TokenKind::kOperator && IsOneOf(kComparisons, token.text)) {
      name = Take().text;
    } else if (SkipName("in")) {
      name = "in";
    } else if (IsName("not") && at_ + 1 < tokens_.size() &&
               tokens_[at_ + 1].kind == TokenKind::kName && tokens_[at_ + 1].text == "in") {
      at_ += 2;
      name = "not in";
    } else {
      return left;
    }
    if (comparisons > 0) {
      throw JinjaFault("a chain of comparisons is not supported", token.place);
    }
    Pointer comparison = Make(Kind::kCompare, token.place, std::move(name));
    Adopt(*comparison, std::move(left));
    Adopt(*comparison, ParseBinary(0));
    left = std::move(comparison);
  }
}

/// Operators from the one that binds least.
JinjaExpression::Pointer JinjaExpressionParser::ParseBinary(int level) {
  static constexpr std::array<std::string_view, 2> kSums = {"+", "-"};
  static constexpr std::array<std::string_view, 1> kTexts = {"~"};
  static constexpr std::array<std::string_view, 4> kProducts = {"*", "/", "//", "%"};
  static constexpr std::array<std::span<const std::string_view>, 3> kLevels = {kSums, kTexts,
                                                                               kProducts};
  if (level == static_cast<int>(kLevels.size())) {
    return ParseUnary(/*has_filters=*/true);
  }
  Pointer left = ParseBinary(level + 1);
  while (Next().kind == TokenKind::kOperator &&
         IsOneOf(kLevels[static_cast<std::size_t>(level)], Next().text)) {
    Pointer both = Make(Kind::kBinary, Next().place, Next().text);
    if (IsOperator("%") && left->literal.text() != nullptr) {
      Fail("formatting with % is not supported");
    }
    Take();
    Adopt(*both, std::move(left));
    Adopt(*both, ParseBinary(level + 1));
    left = std::move(both);
  }
  if (IsOperator("**")) {
    Fail("the operator ** is not supported");
  }
  return left;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseUnary(bool has_filters) {
  const Nesting nesting(*this);
  Pointer value;
  if (IsOperator("-") || IsOperator("+")) {
    const Kind kind = IsOperator("-") ? Kind::kNegative : Kind::kPositive;
    value = Make(kind, Take().place);
    Adopt(*value, ParseUnary(false));
  } else {
    value = ParsePrimary();
  }
  value = ParsePostfix(std::move(value));
  return has_filters ? ParseFilters(std::move(value)) : std::move(value);
}

JinjaExpression::Pointer JinjaExpressionParser::ParsePrimary() {
  const JinjaToken& token = Next();
  Pointer literal = Make(Kind::kLiteral, token.place);
  switch (token.kind) {
    case TokenKind::kName:
      return ParseNamed();
    case TokenKind::kInteger:
      literal->literal = JinjaValue::OfInteger(Take().integer);
      return literal;
    case TokenKind::kFloat:
      literal->literal = JinjaValue(JinjaValue::Variant(Take().number));
      return literal;
    case TokenKind::kString: {
      std::string text;
      while (Next().kind == TokenKind::kString) {
        text += Take().text;
      }
      literal->literal = JinjaValue::OfTemplate(std::move(text));
      return literal;
    }
    case TokenKind::kOperator:
      return ParseBracketed();
    default:
      Unexpected("an expression");
  }
}

JinjaExpression::Pointer JinjaExpressionParser::ParseNamed() {
  const JinjaToken& token = Take();
  Pointer value = Make(Kind::kLiteral, token.place);
  if (token.text == "true" || token.text == "True") {
    value->literal = JinjaValue::OfBool(true);
  } else if (token.text == "false" || token.text == "False") {
    value->literal = JinjaValue::OfBool(false);
  } else if (token.text == "none" || token.text == "None") {
    value->literal = JinjaValue::OfNone();
  } else {
    static constexpr std::array<std::string_view, 8> kWords = {"if",  "else", "in",  "is",
                                                               "and", "or",   "not", "for"};
    if (IsOneOf(kWords, token.text)) {
      throw JinjaFault("expected an expression, not " + proto::Quoted(token.text), token.place);
    }
    if (num_macros_ > 0 && IsSpecialInMacros(token.text)) {
      throw JinjaFault("the variable " + proto::Quoted(token.text) + " is not supported",
                       token.place);
    }
    value->kind = Kind::kName;
    value->name = token.text;
  }
  return value;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseBracketed() {
  const JinjaPlace place = Next().place;
  if (SkipOperator("[")) {
    return ParseList();
  }
  if (SkipOperator("{")) {
    return ParseObject();
  }
  if (!SkipOperator("(")) {
    Unexpected("an expression");
  }
  if (SkipOperator(")")) {
    return Make(Kind::kTuple, place);
  }
  Pointer value = ParseExpressions();
  ExpectOperator(")");
  return value;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseList() {
  Pointer list = Make(Kind::kList, Next().place);
  while (!SkipOperator("]")) {
    Adopt(*list, ParseExpression());
    if (!IsOperator("]")) {
      ExpectOperator(",");
    }
  }
  return list;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseObject() {
  Pointer object = Make(Kind::kObject, Next().place);
  while (!SkipOperator("}")) {
    Adopt(*object, ParseExpression());
    ExpectOperator(":");
    Adopt(*object, ParseExpression());
    if (!IsOperator("}")) {
      ExpectOperator(",");
    }
  }
  return object;
}

JinjaExpression::Pointer JinjaExpressionParser::ParsePostfix(Pointer value) {
  while (true) {
    if (IsOperator(".")) {
      const JinjaPlace place = Take().place;
      const bool is_index = Next().kind == TokenKind::kInteger;
      Pointer part = Make(is_index ? Kind::kItem : Kind::kAttribute, place);
      Adopt(*part, std::move(value));
      if (is_index) {
        Adopt(*part, ParsePrimary());
      } else {
        part->name = ExpectName("the name of an attribute");
      }
      value = std::move(part);
    } else if (IsOperator("[")) {
      value = ParseSubscript(std::move(value));
    } else if (IsOperator("(")) {
      value = ParseCall(std::move(value));
    } else {
      return value;
    }
  }
}

JinjaExpression::Pointer JinjaExpressionParser::ParseSubscript(Pointer value) {
  Pointer part = Make(Kind::kItem, Take().place);
  Adopt(*part, std::move(value));
  const auto parse_bound = [&] {
    Adopt(*part, IsOperator(":") || IsOperator("]") ? nullptr : ParseExpression());
  };
  parse_bound();
  if (IsOperator(":")) {
    part->kind = Kind::kSlice;
    for (int bound = 0; bound < 2; ++bound) {
      if (SkipOperator(":")) {
        parse_bound();
      } else {
        Adopt(*part, nullptr);
      }
    }
  } else if (part->operands[1] == nullptr) {
    Unexpected("an expression");
  }
  ExpectOperator("]");
  return part;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseFilters(Pointer value) {
  while (true) {
    if (IsOperator("|")) {
      value = ParseFilter(std::move(value));
    } else if (IsName("is")) {
      value = ParseTest(std::move(value));
    } else if (IsOperator("(")) {
      value = ParseCall(std::move(value));
    } else {
      return value;
    }
  }
}

JinjaExpression::Pointer JinjaExpressionParser::ParseFilter(Pointer value) {
  Take();
  Pointer filter = Make(Kind::kFilter, Next().place);
  filter->name = ExpectName("the name of a filter");
  filter->function = FindJinjaFilter(filter->name);
  if (filter->function == nullptr) {
    throw JinjaFault("the filter " + proto::Quoted(filter->name) + " is not supported",
                     filter->place);
  }
  Adopt(*filter, std::move(value));
  if (SkipOperator("(")) {
    ParseArguments(*filter);
  }
  CheckArguments(*filter, "filter");
  CheckNamedFunctions(*filter);
  return filter;
}

JinjaExpression::Pointer JinjaExpressionParser::ParseTest(Pointer value) {
  Take();
  const JinjaPlace place = Next().place;
  const bool is_negated = SkipName("not");
  Pointer test = Make(Kind::kTest, place);
  test->name = ExpectName("the name of a test");
  test->function = FindJinjaTest(test->name);
  if (test->function == nullptr) {
    throw JinjaFault("the test " + proto::Quoted(test->name) + " is not supported", place);
  }
  Adopt(*test, std::move(value));
  static constexpr std::array<std::string_view, 3> kNotArguments = {"else", "or", "and"};
  if (IsName("is")) {
    Fail("a chain of tests is not supported");
  }
  const TokenKind kind = Next().kind;
  if (SkipOperator("(")) {
    ParseArguments(*test);
  } else if ((kind == TokenKind::kName && !IsOneOf(kNotArguments, Next().text)) ||
             kind == TokenKind::kString || kind == TokenKind::kInteger ||
             kind == TokenKind::kFloat || IsOperator("[") || IsOperator("{")) {
    Adopt(*test, ParsePostfix(ParsePrimary()));
  }
  CheckArguments(*test, "test");
  if (!is_negated) {
    return test;
  }
  Pointer opposite = Make(Kind::kNot, place);
  Adopt(*opposite, std::move(test));
  return opposite;
}

}  // namespace scorecast::coordinator
