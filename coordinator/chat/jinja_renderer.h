#pragma once

#include <cstddef>
#include <cstdint>
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
    scopes_.push_back({std::move(variables), 0, 0});
  }
  JinjaRenderer(const JinjaRenderer&) = delete;
  JinjaRenderer& operator=(const JinjaRenderer&) = delete;

  MarkedText Render(const JinjaBody& body);

 private:
  enum class Flow { kNext, kBreak, kContinue };
  /// Variables that are set between a begin and an end.
  struct Scope {
    Variables variables;
    std::size_t outer = 0;  ///< The scope that is seen behind it. The template's own is the last.
    std::uint64_t serial = 0;  ///< Tells it from a later scope at the same index.
  };
  /// A scope in which a set is seen, as long as it exists. Inside of the innermost one, or of
  /// `outer`.
  class OpenScope {
   public:
    explicit OpenScope(JinjaRenderer& renderer) : OpenScope(renderer, renderer.InnermostScope()) {}
    OpenScope(JinjaRenderer& renderer, std::size_t outer) : renderer_(renderer) {
      renderer_.scopes_.push_back({{}, outer, ++renderer_.scopes_opened_});
    }
    ~OpenScope() { renderer_.scopes_.pop_back(); }
    OpenScope(const OpenScope&) = delete;
    OpenScope& operator=(const OpenScope&) = delete;

   private:
    JinjaRenderer& renderer_;
  };

  /// All of a scope that is open.
  Flow ExecuteScope(const JinjaBody& body);
  Flow Execute(const JinjaBody& body);
  Flow Execute(const JinjaStatement& statement);
  Flow ExecuteStatement(const JinjaStatement& statement);
  Flow ExecuteIf(const JinjaStatement& choice);
  Flow ExecuteFor(const JinjaStatement& loop);
  void ExecuteMacro(const JinjaStatement& macro);
  void Assign(const JinjaStatement& set, JinjaValue value);
  void SetItem(const JinjaStatement& loop, const JinjaValue& item);
  JinjaIterator LoopItems(const JinjaStatement& loop, const JinjaValue& all);
  void Output(const MarkedText& text);
  MarkedText TextOf(const JinjaBody& body);

  JinjaValue Evaluate(const JinjaExpression& expression);
  JinjaValue EvaluateKind(const JinjaExpression& expression);
  JinjaValue EvaluateName(const JinjaExpression& name) const;
  JinjaValue EvaluateList(const JinjaExpression& list, JinjaItemsKind kind);
  JinjaValue EvaluateObject(const JinjaExpression& object);
  JinjaValue EvaluateAttribute(const JinjaExpression& attribute);
  JinjaValue EvaluateSlice(const JinjaExpression& slice);
  JinjaValue EvaluateCall(const JinjaExpression& call);
  JinjaValue CallMacro(const JinjaExpression& call);
  Variables MacroArguments(const JinjaExpression& call, const JinjaStatement& macro,
                           std::vector<bool>& is_given);
  JinjaValue EvaluateCompare(const JinjaExpression& comparison);
  JinjaValue EvaluateBinary(const JinjaExpression& binary);
  JinjaValue Joined(const JinjaValue& left, const JinjaValue& right);
  JinjaValue Multiplied(const JinjaValue& left, const JinjaValue& right);
  std::optional<std::int64_t> Bound(const JinjaExpression::Pointer& expression);

  const JinjaValue* FindVariable(std::string_view name) const;
  void Set(std::string_view name, JinjaValue value);

  std::size_t InnermostScope() const { return scopes_.size() - 1; }
  bool IsOpen(std::size_t scope, std::uint64_t serial) const {
    return scope < scopes_.size() && scopes_[scope].serial == serial;
  }

  JinjaRuntime& runtime_;
  std::vector<Scope> scopes_;  ///< The template's own first.
  std::uint64_t scopes_opened_ = 0;
  MarkedText output_;
};

}  // namespace scorecast::coordinator
