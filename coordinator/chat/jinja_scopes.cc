// Which variables have no value at the beginning of a scope, whatever there is around it.
//
// Jinja decides when it compiles a template what a name means in a scope. If the first statement of
// the scope that has the name sets it, and no scope around has the name, then the name is a
// variable of the scope alone: before it is set it is undefined, even if the conversation has a
// variable of the name. Statements of inner scopes do not count, and a name that an `if` sets is
// looked up around the scope.

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "coordinator/chat/jinja_syntax.h"

namespace scorecast::coordinator {
namespace {

/// A scope and the names that its own statements have.
class NamedScope {
 public:
  explicit NamedScope(const NamedScope* outer) : outer_(outer) {}

  void Add(std::string_view name) { names_.insert(name); }

  /// Reads the statements of the scope's body, and then the scopes in it.
  void Read(JinjaBody& body) {
    ReadStatements(body, body.unset, /*is_certain=*/true);
    ReadInner(body);
  }

  void ReadExpression(const JinjaExpression* expression) {
    if (expression == nullptr) {
      return;
    }
    if (expression->kind == JinjaExpression::Kind::kName ||
        expression->kind == JinjaExpression::Kind::kCall) {
      Add(expression->name);
    }
    for (const JinjaExpression::Pointer& operand : expression->operands) {
      ReadExpression(operand.get());
    }
    for (const auto& [name, value] : expression->keywords) {
      ReadExpression(value.get());
    }
  }

 private:
  bool Has(std::string_view name) const {
    return names_.contains(name) || (outer_ != nullptr && outer_->Has(name));
  }

  void ReadSet(const std::string& name, std::vector<std::string>& unset, bool is_certain) {
    if (is_certain && !Has(name)) {
      unset.push_back(name);
    }
    Add(name);
  }

  void ReadStatements(const JinjaBody& body, std::vector<std::string>& unset, bool is_certain) {
    for (const JinjaStatement& statement : body.statements) {
      switch (statement.kind) {
        case JinjaStatement::Kind::kOutput:
        case JinjaStatement::Kind::kFor:
          ReadExpression(statement.value.get());
          break;
        case JinjaStatement::Kind::kIf:
          for (const JinjaStatement::Branch& branch : statement.branches) {
            ReadExpression(branch.condition.get());
            ReadStatements(branch.body, unset, /*is_certain=*/false);
          }
          break;
        case JinjaStatement::Kind::kSet:
        case JinjaStatement::Kind::kSetBlock:
        case JinjaStatement::Kind::kMacro:
          ReadExpression(statement.value.get());
          if (statement.names.size() == 1) {
            ReadSet(statement.names.front(), unset, is_certain);
          } else {
            Add(statement.names.front());
          }
          break;
        case JinjaStatement::Kind::kText:
        case JinjaStatement::Kind::kScope:
        case JinjaStatement::Kind::kBreak:
        case JinjaStatement::Kind::kContinue:
          break;
      }
    }
  }

  void ReadInner(JinjaBody& body) const {
    for (JinjaStatement& statement : body.statements) {
      if (statement.kind == JinjaStatement::Kind::kIf) {
        for (JinjaStatement::Branch& branch : statement.branches) {
          ReadInner(branch.body);
        }
        continue;
      }
      NamedScope inner(this);
      if (statement.kind == JinjaStatement::Kind::kFor) {
        inner.Add("loop");
        for (const std::string& name : statement.names) {
          inner.Add(name);
        }
        for (JinjaStatement::Branch& without_items : statement.branches) {
          NamedScope(this).Read(without_items.body);
        }
      }
      for (const JinjaStatement::Parameter& parameter : statement.parameters) {
        inner.Add(parameter.name);
      }
      for (const JinjaStatement::Parameter& parameter : statement.parameters) {
        inner.ReadExpression(parameter.default_value.get());
      }
      inner.Read(statement.body);
    }
  }

  const NamedScope* const outer_;
  std::set<std::string_view> names_;
};

}  // namespace

void FindUnset(JinjaBody& body) { NamedScope(nullptr).Read(body); }

}  // namespace scorecast::coordinator
