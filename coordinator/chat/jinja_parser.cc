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
          body.push_back(MakeStatement(Statement::kText, token.place));
          body.back().text = Take().text;
          break;
        case TokenKind::kOutputBegin:
          body.push_back(MakeStatement(Statement::kOutput, Take().place));
          body.back().value = ParseExpression();
          Expect(TokenKind::kOutputEnd, "\"}}\"");
          break;
        case TokenKind::kTagBegin: {
          Take();
          if (std::ranges::find(ends, Next().text) != ends.end()) {
            return body;
          }
          body.push_back(ParseStatement());
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
      scope.body = ParseEnded("endgeneration");
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

  JinjaStatement ParseIf(JinjaPlace place) {
    JinjaStatement choice = MakeStatement(Statement::kIf, place);
    bool has_else = false;
    while (true) {
      JinjaStatement::Branch& branch = choice.branches.emplace_back();
      if (!has_else) {
        branch.condition = ParseExpression(/*has_choice=*/false);
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
    const bool has_parentheses = SkipOperator("(");
    do {
      loop.names.push_back(ExpectName("the name of a variable"));
    } while (SkipOperator(","));
    if (has_parentheses) {
      ExpectOperator(")");
    }
    if (!SkipName("in")) {
      Unexpected("\"in\"");
    }
    loop.value = ParseExpression(/*has_choice=*/false);
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
    return loop;
  }

  JinjaStatement ParseSet(JinjaPlace place) {
    JinjaStatement set = MakeStatement(Statement::kSet, place);
    set.names.push_back(ExpectName("the name of a variable"));
    if (SkipOperator(".")) {
      set.names.push_back(ExpectName("the name of an attribute"));
    }
    if (IsOperator(",")) {
      Fail("a tag \"set\" of several variables is not supported");
    }
    if (SkipOperator("=")) {
      set.value = ParseExpression();
      EndTag();
      return set;
    }
    if (IsOperator("|")) {
      Fail("a tag \"set\" with a filter is not supported");
    }
    EndTag();
    set.kind = Statement::kSetBlock;
    set.body = ParseEnded("endset");
    return set;
  }

  JinjaStatement ParseMacro(JinjaPlace place) {
    JinjaStatement macro = MakeStatement(Statement::kMacro, place);
    macro.names.push_back(ExpectName("the name of a macro"));
    macros_.push_back(macro.names.front());
    ExpectOperator("(");
    while (!SkipOperator(")")) {
      JinjaStatement::Parameter& parameter = macro.parameters.emplace_back();
      parameter.name = ExpectName("the name of a parameter");
      if (SkipOperator("=")) {
        parameter.default_value = ParseExpression();
      }
      if (!IsOperator(")")) {
        ExpectOperator(",");
      }
    }
    EndTag();
    const int loops = std::exchange(num_loops_, 0);
    macro.body = ParseEnded("endmacro");
    num_loops_ = loops;
    return macro;
  }

  std::vector<std::string> macros_;
  int num_loops_ = 0;  ///< Around the statement that is parsed.
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
