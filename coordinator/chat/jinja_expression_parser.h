#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/chat/jinja_lexer.h"
#include "coordinator/chat/jinja_syntax.h"

namespace scorecast::coordinator {

/// Parses expressions, by Jinja's precedence of operators. The parser of statements derives from
/// it.
class JinjaExpressionParser {
 protected:
  using Pointer = JinjaExpression::Pointer;
  using Kind = JinjaExpression::Kind;
  using TokenKind = JinjaToken::Kind;

  explicit JinjaExpressionParser(std::vector<JinjaToken> tokens) : tokens_(std::move(tokens)) {}

  const JinjaToken& Next() const { return tokens_[at_]; }
  const JinjaToken& Take() { return tokens_[Next().kind == TokenKind::kEnd ? at_ : at_++]; }
  bool IsOperator(std::string_view text) const { return Is(TokenKind::kOperator, text); }
  bool IsName(std::string_view text) const { return Is(TokenKind::kName, text); }
  /// Whether the operator follows the next token.
  bool IsOperatorBehind(std::string_view text) const {
    return at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == TokenKind::kOperator &&
           tokens_[at_ + 1].text == text;
  }
  bool SkipOperator(std::string_view text) { return Skip(TokenKind::kOperator, text); }
  bool SkipName(std::string_view text) { return Skip(TokenKind::kName, text); }
  void Expect(TokenKind kind, std::string_view what);
  void ExpectOperator(std::string_view text);
  std::string ExpectName(std::string_view what);
  [[noreturn]] void Fail(const std::string& what) const { throw JinjaFault(what, Next().place); }
  /// The fault of a token that makes no sense.
  [[noreturn]] void Unexpected(std::string_view wanted) const;

  /// With `if … else`, unless `has_choice` is false.
  Pointer ParseExpression(bool has_choice = true);
  /// The same, or a tuple without parentheses.
  Pointer ParseExpressions(bool has_choice = true);

  /// Whether the name is a variable of its own in a macro that uses it.
  static bool IsSpecialInMacros(std::string_view name);

  /// The body of a macro, as long as it exists.
  class MacroBody {
   public:
    explicit MacroBody(JinjaExpressionParser& parser) : parser_(parser) { ++parser_.num_macros_; }
    ~MacroBody() { --parser_.num_macros_; }
    MacroBody(const MacroBody&) = delete;
    MacroBody& operator=(const MacroBody&) = delete;

   private:
    JinjaExpressionParser& parser_;
  };

  /// To be called behind the whole template. Throws the fault of a call of what is neither a global
  /// function nor one of these macros.
  void CheckCalls(const std::vector<std::string>& macros) const;

  /// One level of nesting in the source, as long as it exists.
  class Nesting {
   public:
    explicit Nesting(JinjaExpressionParser& parser);
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    JinjaExpressionParser& parser_;
  };

 private:
  bool Is(TokenKind kind, std::string_view text) const {
    return Next().kind == kind && Next().text == text;
  }
  bool Skip(TokenKind kind, std::string_view text) {
    const bool is_there = Is(kind, text);
    at_ += is_there ? 1 : 0;
    return is_there;
  }

  static Pointer Make(Kind kind, JinjaPlace place, std::string name = {});
  static void Adopt(JinjaExpression& expression, Pointer operand);

  Pointer ParseOr();
  Pointer ParseAnd();
  Pointer ParseNot();
  Pointer ParseComparison();
  Pointer ParseBinary(int level);
  Pointer ParseUnary(bool has_filters);
  Pointer ParsePrimary();
  Pointer ParseNamed();
  Pointer ParseBracketed();
  Pointer ParseList();
  Pointer ParseTuple(Pointer first, bool has_choice);
  Pointer ParseObject();
  Pointer ParsePostfix(Pointer value);
  Pointer ParseSubscript(Pointer value);
  Pointer ParseFilters(Pointer value);
  Pointer ParseFilter(Pointer value);
  Pointer ParseTest(Pointer value);
  Pointer ParseCall(Pointer callee);
  void ParseArguments(JinjaExpression& call);
  void CheckArguments(const JinjaExpression& call, std::string_view what) const;
  void CheckNamedFunctions(const JinjaExpression& filter) const;

  const std::vector<JinjaToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int num_macros_ = 0;                         ///< Around the expression that is parsed.
  std::vector<const JinjaExpression*> calls_;  ///< Of names that are no global functions.
};

}  // namespace scorecast::coordinator
