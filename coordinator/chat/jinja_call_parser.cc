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
    const bool is_keyword = Next().kind == TokenKind::kName && at_ + 1 < tokens_.size() &&
                            tokens_[at_ + 1].kind == TokenKind::kOperator &&
                            tokens_[at_ + 1].text == "=";
    if (is_keyword) {
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
  const JinjaFunction& function = *call.function;
  const std::string named = "the " + std::string(what) + " " + proto::Quoted(call.name);
  if (call.operands.size() > function.parameters.size()) {
    throw JinjaFault(named + " has too many arguments", call.place);
  }
  std::size_t required = 0;
  for (std::size_t i = 0; i < function.required; ++i) {
    required +=
        i < call.operands.size() || std::ranges::any_of(call.keywords, [&](const auto& keyword) {
          return keyword.first == function.parameters[i];
        });
  }
  if (required < function.required) {
    throw JinjaFault(named + " has too few arguments", call.place);
  }
  for (const auto& [name, value] : call.keywords) {
    const auto parameter = std::ranges::find(function.parameters, name);
    if (parameter == function.parameters.end() && !function.takes_others) {
      throw JinjaFault("the argument " + proto::Quoted(name) + " of " + named + " is not supported",
                       call.place);
    }
    if (parameter - function.parameters.begin() <
        static_cast<std::ptrdiff_t>(call.operands.size())) {
      throw JinjaFault("the argument " + proto::Quoted(name) + " is given twice", call.place);
    }
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
