#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_functions.h"
#include "coordinator/chat/jinja_value.h"

namespace scorecast::coordinator {

/// An expression of a template.
struct JinjaExpression {
  enum class Kind {
    kLiteral,
    kName,
    kList,
    kTuple,
    kObject,     ///< operands: keys and values in turns
    kAttribute,  ///< operand.name
    kItem,       ///< operands[0][operands[1]]
    kSlice,      ///< operands[0][operands[1]:operands[2]:operands[3]]; an absent one is null
    kCall,       ///< name(operands…); a macro if `function` is null
    kMethod,     ///< operands[0].name(…)
    kFilter,     ///< operands[0] | name(…)
    kTest,       ///< operands[0] is name(…)
    kNot,
    kNegative,
    kPositive,
    kAnd,
    kOr,
    kChoice,   ///< operands[1] if operands[0] else operands[2], which may be null
    kCompare,  ///< operands[0] name operands[1]: "==", "in", …
    kBinary,   ///< the same with "+", "~", …
  };
  using Pointer = std::unique_ptr<JinjaExpression>;

  Kind kind = Kind::kLiteral;
  JinjaPlace place;
  std::string name;
  JinjaValue literal;
  std::vector<Pointer> operands;
  std::vector<std::pair<std::string, Pointer>> keywords;  ///< Of calls of all kinds.
  const JinjaFunction* function = nullptr;
  int depth = 1;  ///< Expressions nested in this one, itself included.
};

struct JinjaStatement;

/// Statements one behind another.
struct JinjaBody {
  std::vector<JinjaStatement> statements;
  /// Of a scope: the names that have no value at its beginning, whatever there is around it.
  std::vector<std::string> unset;
};

/// A statement of a template, or text of it.
struct JinjaStatement {
  enum class Kind {
    kText,
    kOutput,    ///< value
    kIf,        ///< branches
    kFor,       ///< names in value, if condition: body, or else branches[0].body without items
    kSet,       ///< names[0] = value; with two names, the second one is that of an attribute
    kSetBlock,  ///< the same, with the text of the body as the value
    kMacro,     ///< names[0], parameters, body
    kScope,     ///< {% generation %}
    kBreak,
    kContinue,
  };
  /// Of an if, in their order.
  struct Branch {
    JinjaExpression::Pointer condition;  ///< Null: else.
    JinjaBody body;
  };
  struct Parameter {
    std::string name;
    JinjaExpression::Pointer default_value;  ///< Null if it has none.
  };

  Kind kind = Kind::kText;
  JinjaPlace place;
  std::string text;
  std::vector<std::string> names;
  JinjaExpression::Pointer value;
  JinjaExpression::Pointer condition;
  JinjaBody body;
  std::vector<Branch> branches;
  std::vector<Parameter> parameters;
};

/// Upper bound on the bytes of a template. Real ones have up to 100,000.
inline constexpr std::size_t kMostJinjaBytes = std::size_t{1} << 20;

/// Parses a template, which is valid UTF-8, in linear time. Throws JinjaFault if it is no template,
/// or has what this subset has not: the fault names it.
JinjaBody ParseJinja(std::string_view source);

/// Sets JinjaBody::unset of the scopes in a template.
void FindUnset(JinjaBody& body);

}  // namespace scorecast::coordinator
