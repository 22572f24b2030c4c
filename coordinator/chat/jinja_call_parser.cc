// How calls are parsed: of functions, macros and methods, and the arguments of filters and tests.

#include <algorithm>
#include <set>

#include "coordinator/chat/jinja_expression_parser.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {

JinjaExpression::Pointer JinjaExpressionParser::ParseCall(Pointer callee) {
  const JinjaPlace place = callee->place;
  Take();
  if (callee->kind == Kind::kAttribute) {
    Pointer call = std::move(callee);
    call->kind = Kind::kMethod;
    call->function = FindJinjaMethod(call->name);
    if (call->function == nullptr) {
      throw JinjaFault("the method " + proto::Quoted(call->name) + " is not supported", place);
    }
    ParseArguments(*call);
    CheckArguments(*call, "method");
    return call;
  }
  if (callee->kind != Kind::kName) {
    throw JinjaFault("a call of something without a name is not supported", place);
  }
  Pointer call = Make(Kind::kCall, place, callee->name);
  call->function = FindJinjaGlobal(call->name);
  ParseArguments(*call);
  if (call->function != nullptr) {
    CheckArguments(*call, "function");
  } else {
    calls_.push_back(call.get());
  }
  return call;
}

void JinjaExpressionParser::ParseArguments(JinjaExpression& call) {
  while (!SkipOperator(")")) {
    if (IsOperator("*") || IsOperator("**")) {
      Fail("arguments from a list are not supported");
    }
    if (Next().kind == TokenKind::kName && IsOperatorBehind("=")) {
      std::string name = Take().text;
      Take();
      Pointer value = ParseExpression();
      call.depth = std::max(call.depth, value->depth + 1);
      call.keywords.emplace_back(std::move(name), std::move(value));
    } else if (!call.keywords.empty()) {
      Fail("an argument without a name follows one with a name");
    } else {
      Adopt(call, ParseExpression());
    }
    if (!IsOperator(")")) {
      ExpectOperator(",");
    }
  }
}

void JinjaExpressionParser::CheckArguments(const JinjaExpression& call,
                                           std::string_view what) const {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : call.keywords) {
    names.emplace_back(name);
  }
  const std::string fault =
      ArgumentsFault(*call.function, "the " + std::string(what) + " " + proto::Quoted(call.name),
                     call.operands.size(), names);
  if (!fault.empty()) {
    throw JinjaFault(fault, call.place);
  }
}

/// map('trim') and selectattr('role', 'equalto', …) name filters and tests in strings.
void JinjaExpressionParser::CheckNamedFunctions(const JinjaExpression& filter) const {
  const bool is_map = filter.name == "map";
  const std::size_t of_name = filter.name.ends_with("attr") ? 2 : 1;
  const bool is_selection = filter.name.starts_with("select") || filter.name.starts_with("reject");
  if ((!is_map && !is_selection) || filter.operands.size() <= of_name) {
    return;
  }
  const MarkedText* name = filter.operands[of_name]->literal.text();
  const JinjaFunction* function = name == nullptr ? nullptr
                                  : is_map        ? FindJinjaFilter(name->text())
                                                  : FindJinjaTest(name->text());
  if (function == nullptr) {
    throw JinjaFault(
        std::string(is_map ? "the filter " : "the test ") +
            (name == nullptr ? "that an expression names" : proto::Quoted(name->text())) +
            " is not supported",
        filter.operands[of_name]->place);
  }
}

void JinjaExpressionParser::CheckCalls(const std::vector<std::string>& macros) const {
  const std::set<std::string_view> names(macros.begin(), macros.end());
  for (const JinjaExpression* call : calls_) {
    if (!names.contains(call->name)) {
      throw JinjaFault("the function " + proto::Quoted(call->name) + " is not supported",
                       call->place);
    }
  }
}

}  // namespace scorecast::coordinator
