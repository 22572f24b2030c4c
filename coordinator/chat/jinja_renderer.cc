#include "coordinator/chat/jinja_renderer.h"

#include <algorithm>

#include "coordinator/chat/jinja_fault.h"

namespace scorecast::coordinator {
namespace {

/// Less than what all texts of a rendering may have, because rendering copies them.
constexpr std::size_t kMaxOutputBytes = std::size_t{JinjaRuntime::kMaxBytes} / 4;

}  // namespace

class JinjaRenderer::Scope {
 public:
  explicit Scope(JinjaRenderer& renderer) : renderer_(renderer) {
    renderer_.scopes_.emplace_back();
  }
  ~Scope() { renderer_.scopes_.pop_back(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  JinjaRenderer& renderer_;
};

MarkedText JinjaRenderer::Render(const JinjaBody& body) {
  Execute(body);
  return std::move(output_);
}

const JinjaValue* JinjaRenderer::FindVariable(std::string_view name) const {
  const auto find_in = [&](const Variables& scope) -> const JinjaValue* {
    const auto found = std::ranges::find(scope, name, &Variables::value_type::first);
    return found == scope.end() ? nullptr : &found->second;
  };
  for (std::size_t i = scopes_.size(); i-- > first_scope_;) {
    if (const JinjaValue* found = find_in(scopes_[i])) {
      return found;
    }
  }
  return first_scope_ > 0 ? find_in(scopes_.front()) : nullptr;
}

void JinjaRenderer::Set(std::string_view name, JinjaValue value) {
  Variables& scope = scopes_.back();
  const auto found = std::ranges::find(scope, name, &Variables::value_type::first);
  if (found == scope.end()) {
    scope.emplace_back(name, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

JinjaRenderer::Flow JinjaRenderer::Execute(const JinjaBody& body) {
  for (const JinjaStatement& statement : body) {
    const Flow flow = Execute(statement);
    if (flow != Flow::kNext) {
      return flow;
    }
  }
  return Flow::kNext;
}

JinjaRenderer::Flow JinjaRenderer::Execute(const JinjaStatement& statement) {
  try {
    const JinjaRuntime::Level level(runtime_);
    runtime_.Step();
    return ExecuteStatement(statement);
  } catch (JinjaFault& fault) {
    if (fault.place.line == 0) {
      fault.place = statement.place;
    }
    throw;
  }
}

JinjaRenderer::Flow JinjaRenderer::ExecuteStatement(const JinjaStatement& statement) {
  using Kind = JinjaStatement::Kind;
  switch (statement.kind) {
    case Kind::kText:
      Output(MarkedText(statement.text));
      return Flow::kNext;
    case Kind::kOutput:
      Output(Evaluate(*statement.value).ToText());
      return Flow::kNext;
    case Kind::kIf:
      return ExecuteIf(statement);
    case Kind::kFor:
      return ExecuteFor(statement);
    case Kind::kSet:
      ExecuteSet(statement);
      return Flow::kNext;
    case Kind::kSetBlock: {
      MarkedText text = TextOf(statement.body);
      Set(statement.names.front(), JinjaValue(std::move(text)));
      return Flow::kNext;
    }
    case Kind::kMacro:
      Set(statement.names.front(), JinjaValue(JinjaValue::Variant(&statement)));
      return Flow::kNext;
    case Kind::kScope: {
      const Scope scope(*this);
      return Execute(statement.body);
    }
    case Kind::kBreak:
      return Flow::kBreak;
    case Kind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

JinjaRenderer::Flow JinjaRenderer::ExecuteIf(const JinjaStatement& choice) {
  for (const JinjaStatement::Branch& branch : choice.branches) {
    if (branch.condition == nullptr || Evaluate(*branch.condition).IsTrue()) {
      return Execute(branch.body);
    }
  }
  return Flow::kNext;
}

void JinjaRenderer::SetItem(const JinjaStatement& loop, const JinjaValue& item) {
  if (loop.names.size() == 1) {
    Set(loop.names.front(), item);
    return;
  }
  const std::vector<JinjaValue>* parts = item.items();
  if (parts == nullptr || parts->size() != loop.names.size()) {
    throw JinjaFault(item.TypeName() + " has not one item for each variable of the loop");
  }
  for (std::size_t i = 0; i < parts->size(); ++i) {
    Set(loop.names[i], (*parts)[i]);
  }
}

JinjaValue::List JinjaRenderer::LoopItems(const JinjaStatement& loop) {
  JinjaValue::List all = ItemsOf(Evaluate(*loop.value), runtime_);
  if (loop.condition == nullptr) {
    return all;
  }
  runtime_.UseItems(all->values.size());
  std::vector<JinjaValue> kept;
  for (const JinjaValue& item : all->values) {
    const Scope scope(*this);
    SetItem(loop, item);
    if (Evaluate(*loop.condition).IsTrue()) {
      kept.push_back(item);
    }
  }
  return *JinjaValue::OfItems(std::move(kept)).As<JinjaValue::List>();
}

JinjaRenderer::Flow JinjaRenderer::ExecuteFor(const JinjaStatement& loop) {
  JinjaLoop& variable = runtime_.NewLoop();
  variable.items = LoopItems(loop);
  if (variable.items->values.empty()) {
    return loop.branches.empty() ? Flow::kNext : Execute(loop.branches.front().body);
  }
  for (; variable.index < variable.items->values.size(); ++variable.index) {
    runtime_.Step();
    const Scope scope(*this);
    Set("loop", JinjaValue(JinjaValue::Variant(&std::as_const(variable))));
    SetItem(loop, variable.items->values[variable.index]);
    if (Execute(loop.body) == Flow::kBreak) {
      break;
    }
  }
  return Flow::kNext;
}

void JinjaRenderer::ExecuteSet(const JinjaStatement& set) {
  JinjaValue value = Evaluate(*set.value);
  if (set.names.size() == 1) {
    Set(set.names.front(), std::move(value));
    return;
  }
  const JinjaValue* space = FindVariable(set.names.front());
  if (space == nullptr || space->As<JinjaNamespace*>() == nullptr) {
    throw JinjaFault(set.names.front() + " is no namespace");
  }
  (*space->As<JinjaNamespace*>())->Set(set.names.back(), std::move(value));
}

void JinjaRenderer::Output(const MarkedText& text) {
  runtime_.UseBytes(text.size());
  if (text.size() > kMaxOutputBytes - output_.size()) {
    throw JinjaFault("the rendered text is too long", {}, JinjaFault::Kind::kLimit);
  }
  output_.Append(text);
}

MarkedText JinjaRenderer::TextOf(const JinjaBody& body) {
  MarkedText before = std::exchange(output_, {});
  const Scope scope(*this);
  Execute(body);
  return std::exchange(output_, std::move(before));
}

}  // namespace scorecast::coordinator
