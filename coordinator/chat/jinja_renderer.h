#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/chat/jinja_runtime.h"
#include "coordinator/chat/jinja_syntax.h"

namespace scorecast::coordinator {

/// One rendering of a template. Throws JinjaFault.
class JinjaRenderer {
 public:
  using Variables = std::vector<std::pair<std::string_view, JinjaValue>>;

  /// The names of variables are those of the template, or must outlive the renderer.
  JinjaRenderer(JinjaRuntime& runtime, Variables variables) : runtime_(runtime) {
    scopes_.push_back(std::move(variables));
  }

  MarkedText Render(const JinjaBody& body);

 private:
  enum class Flow { kNext, kBreak, kContinue };
  /// The scope in which a set is seen, as long as it exists.
  class Scope;

  Flow Execute(const JinjaBody& body);
  Flow Execute(const JinjaStatement& statement);
  Flow ExecuteStatement(const JinjaStatement& statement);
  Flow ExecuteIf(const JinjaStatement& choice);
  Flow ExecuteFor(const JinjaStatement& loop);
  void ExecuteSet(const JinjaStatement& set);
  void SetItem(const JinjaStatement& loop, const JinjaValue& item);
  JinjaValue::List LoopItems(const JinjaStatement& loop);
  void Output(const MarkedText& text);
  MarkedText TextOf(const JinjaBody& body);

  JinjaValue Evaluate(const JinjaExpression& expression);
  JinjaValue EvaluateKind(const JinjaExpression& expression);
  JinjaValue EvaluateName(const JinjaExpression& name) const;
  JinjaValue EvaluateList(const JinjaExpression& list);
  JinjaValue EvaluateObject(const JinjaExpression& object);
  JinjaValue EvaluateAttribute(const JinjaExpression& attribute);
  JinjaValue EvaluateItem(const JinjaExpression& item);
  JinjaValue EvaluateSlice(const JinjaExpression& slice);
  JinjaValue EvaluateCall(const JinjaExpression& call);
  JinjaValue CallMacro(const JinjaExpression& call);
  JinjaValue EvaluateCompare(const JinjaExpression& comparison);
  JinjaValue EvaluateBinary(const JinjaExpression& binary);
  JinjaValue Multiplied(const JinjaValue& left, const JinjaValue& right);
  std::optional<std::int64_t> Bound(const JinjaExpression::Pointer& expression);

  const JinjaValue* FindVariable(std::string_view name) const;
  void Set(std::string_view name, JinjaValue value);

  JinjaRuntime& runtime_;
  std::vector<Variables> scopes_;  ///< The template's own first.
  std::size_t first_scope_ = 0;    ///< The outermost one that is seen, besides the template's.
  MarkedText output_;
};

}  // namespace scorecast::coordinator
