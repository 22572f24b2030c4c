#include <algorithm>
#include <array>
#include <string>

#include "coordinator/chat/jinja_expression_parser.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

class StatementParser : private JinjaExpressionParser {
 public:
  explicit StatementParser(std::string_view source) : JinjaExpressionParser(JinjaTokens(source)) {}

  JinjaBody Parse() {
    JinjaBody body = ParseBody({});
    CheckCalls(macros_);
    FindUnset(body);
    return body;
  }

 private:
  using Statement = JinjaStatement::Kind;

  static JinjaStatement MakeStatement(Statement kind, JinjaPlace place) {
    JinjaStatement statement;
    statement.kind = kind;
    statement.place = place;
    return statement;
  }

  /// Parses statements up to a tag with one of the names, which is taken with its beginning; up to
  /// the template's end if there are no names.
  JinjaBody ParseBody(const std::vector<std::string_view>& ends) {
    const Nesting nesting(*this);
    JinjaBody body;
    while (true) {
      const JinjaToken& token = Next();
      switch (token.kind) {
        case TokenKind::kText:
          body.statements.push_back(MakeStatement(Statement::kText, token.place));
          body.statements.back().text = Take().text;
          break;
        case TokenKind::kOutputBegin:
          body.statements.push_back(MakeStatement(Statement::kOutput, Take().place));
          body.statements.back().value = ParseExpressions();
          Expect(TokenKind::kOutputEnd, "\"}}\"");
          break;
        case TokenKind::kTagBegin: {
          Take();
          if (Next().kind == TokenKind::kName &&
              std::ranges::find(ends, Next().text) != ends.end()) {
            return body;
          }
          body.statements.push_back(ParseStatement());
          break;
        }
        default:
          if (!ends.empty()) {
            Fail("the tag " + proto::Quoted(ends.back()) + " is missing");
          }
          return body;
      }
    }
  }

  void EndTag() { Expect(TokenKind::kTagEnd, "\"%}\""); }

  JinjaStatement ParseStatement() {
    const JinjaPlace place = Next().place;
    const std::string name = ExpectName("the name of a tag");
    if (name == "if") {
      return ParseIf(place);
    }
    if (name == "for") {
      return ParseFor(place);
    }
    if (name == "set") {
      return ParseSet(place);
    }
    if (name == "macro") {
      return ParseMacro(place);
    }
    if (name == "generation") {
      JinjaStatement scope = MakeStatement(Statement::kScope, place);
      EndTag();
      const MacroBody macro_body(*this);
      scope.body = ParseApart("endgeneration");
      return scope;
    }
    if (name == "break" || name == "continue") {
      if (num_loops_ == 0) {
        throw JinjaFault("the tag " + proto::Quoted(name) + " stands in no loop", place);
      }
      EndTag();
      return MakeStatement(name == "break" ? Statement::kBreak : Statement::kContinue, place);
    }
    throw JinjaFault("the tag " + proto::Quoted(name) + " is not supported", place);
  }

  /// A body up to this tag, which is taken.
  JinjaBody ParseEnded(std::string_view end) {
    JinjaBody body = ParseBody({end});
    Take();
    EndTag();
    return body;
  }

  /// The same of a body that no loop around it sees: it cannot break or continue one.
  JinjaBody ParseApart(std::string_view end) {
    const int loops = std::exchange(num_loops_, 0);
    JinjaBody body = ParseEnded(end);
    num_loops_ = loops;
    return body;
  }

  /// The name of what is set.
  std::string ExpectTarget(std::string_view what) {
    static constexpr std::array<std::string_view, 6> kConstants = {"true", "false", "none",
                                                                   "True", "False", "None"};
    const JinjaPlace place = Next().place;
    std::string name = ExpectName(what);
    const bool is_loop = name == "loop" && num_fors_ > 0;
    if (is_loop || std::ranges::find(kConstants, name) != kConstants.end()) {
      throw JinjaFault(proto::Quoted(name) + " cannot be set here", place);
    }
    return name;
  }

  JinjaStatement ParseIf(JinjaPlace place) {
    JinjaStatement choice = MakeStatement(Statement::kIf, place);
    bool has_else = false;
    while (true) {
      JinjaStatement::Branch& branch = choice.branches.emplace_back();
      if (!has_else) {
        branch.condition = ParseExpressions(/*has_choice=*/false);
      }
      EndTag();
      branch.body = has_else ? ParseBody({"endif"}) : ParseBody({"elif", "else", "endif"});
      const std::string name = Take().text;
      if (name == "endif") {
        EndTag();
        return choice;
      }
      has_else = name == "else";
    }
  }

  JinjaStatement ParseFor(JinjaPlace place) {
    JinjaStatement loop = MakeStatement(Statement::kFor, place);
    ++num_fors_;
    const bool has_parentheses = SkipOperator("(");
    do {
      loop.names.push_back(ExpectTarget("the name of a variable"));
    } while (SkipOperator(","));
    if (has_parentheses) {
      ExpectOperator(")");
    }
    if (!SkipName("in")) {
      Unexpected("\"in\"");
    }
    loop.value = ParseExpressions(/*has_choice=*/false);
    if (SkipName("if")) {
      loop.condition = ParseExpression();
    }
    if (IsName("recursive")) {
      Fail("a recursive loop is not supported");
    }
    EndTag();
    ++num_loops_;
    loop.body = ParseBody({"else", "endfor"});
    --num_loops_;
    if (Take().text == "else") {
      EndTag();
      loop.branches.emplace_back().body = ParseBody({"endfor"});
      Take();
    }
    EndTag();
    --num_fors_;
    return loop;
  }

  JinjaStatement ParseSet(JinjaPlace place) {
    JinjaStatement set = MakeStatement(Statement::kSet, place);
    if (IsOperatorBehind(".")) {
      set.names.push_back(ExpectName("the name of a namespace"));
      Take();
      set.names.push_back(ExpectName("the name of an attribute"));
    } else {
      set.names.push_back(ExpectTarget("the name of a variable"));
    }
    if (IsOperator(",")) {
      Fail("a tag \"set\" of several variables is not supported");
    }
    if (SkipOperator("=")) {
      set.value = ParseExpressions();
      EndTag();
      return set;
    }
    if (IsOperator("|")) {
      Fail("a tag \"set\" with a filter is not supported");
    }
    EndTag();
    set.kind = Statement::kSetBlock;
    set.body = ParseApart("endset");
    return set;
  }

  JinjaStatement ParseMacro(JinjaPlace place) {
    JinjaStatement macro = MakeStatement(Statement::kMacro, place);
    macro.names.push_back(ExpectTarget("the name of a macro"));
    macros_.push_back(macro.names.front());
    const MacroBody macro_body(*this);
    ExpectOperator("(");
    while (!SkipOperator(")")) {
      ParseParameter(macro.parameters);
      if (!IsOperator(")")) {
        ExpectOperator(",");
      }
    }
    EndTag();
    macro.body = ParseApart("endmacro");
    return macro;
  }

  void ParseParameter(std::vector<JinjaStatement::Parameter>& parameters) {
    const JinjaPlace place = Next().place;
    JinjaStatement::Parameter parameter;
    parameter.name = ExpectTarget("the name of a parameter");
    const bool is_known = std::ranges::find(parameters, parameter.name,
                                            &JinjaStatement::Parameter::name) != parameters.end();
    if (is_known || IsSpecialInMacros(parameter.name)) {
      throw JinjaFault("the parameter " + proto::Quoted(parameter.name) +
                           (is_known ? " is there twice" : " is not supported"),
                       place);
    }
    if (SkipOperator("=")) {
      parameter.default_value = ParseExpression();
    } else if (!parameters.empty() && parameters.back().default_value != nullptr) {
      throw JinjaFault("the parameter " + proto::Quoted(parameter.name) +
                           " needs a default, because the one before it has one",
                       place);
    }
    parameters.push_back(std::move(parameter));
  }

  std::vector<std::string> macros_;
  int num_loops_ = 0;  ///< Those that a statement here may break.
  int num_fors_ = 0;   ///< All loops around the statement that is parsed.
};

}  // namespace

JinjaBody ParseJinja(std::string_view source) {
  if (source.size() > kMostJinjaBytes) {
    throw JinjaFault("the template has " + std::to_string(source.size()) + " bytes; at most " +
                     std::to_string(kMostJinjaBytes) + " are supported");
  }
  return StatementParser(source).Parse();
}

}  // namespace scorecast::coordinator
