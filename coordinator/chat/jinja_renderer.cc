#include "coordinator/chat/jinja_renderer.h"

#include <algorithm>

#include "coordinator/chat/jinja_fault.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

/// Less than what all texts of a rendering may have, because rendering copies them.
constexpr std::size_t kMaxOutputBytes = std::size_t{JinjaRuntime::kMaxBytes} / 4;

}  // namespace

MarkedText JinjaRenderer::Render(const JinjaBody& body) {
  ExecuteScope(body);
  return std::move(output_);
}

const JinjaValue* JinjaRenderer::FindVariable(std::string_view name) const {
  for (std::size_t i = InnermostScope();; i = scopes_[i].outer) {
    const Variables& variables = scopes_[i].variables;
    const auto found = std::ranges::find(variables, name, &Variables::value_type::first);
    if (found != variables.end()) {
      return &found->second;
    }
    if (i == 0) {
      return nullptr;
    }
  }
}

void JinjaRenderer::Set(std::string_view name, JinjaValue value) {
  Variables& variables = scopes_.back().variables;
  const auto found = std::ranges::find(variables, name, &Variables::value_type::first);
  if (found == variables.end()) {
    variables.emplace_back(name, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

JinjaRenderer::Flow JinjaRenderer::ExecuteScope(const JinjaBody& body) {
  for (const std::string& name : body.unset) {
    Set(name, JinjaValue(JinjaValue::Variant(JinjaValue::Undefined{name})));
  }
  return Execute(body);
}

JinjaRenderer::Flow JinjaRenderer::Execute(const JinjaBody& body) {
  for (const JinjaStatement& statement : body.statements) {
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
      Assign(statement, Evaluate(*statement.value));
      return Flow::kNext;
    case Kind::kSetBlock: {
      std::optional<OpenScope> scope(std::in_place, *this);
      MarkedText text = TextOf(statement.body);
      scope.reset();
      Assign(statement, JinjaValue(std::move(text)));
      return Flow::kNext;
    }
    case Kind::kMacro:
      ExecuteMacro(statement);
      return Flow::kNext;
    case Kind::kScope: {
      const OpenScope scope(*this);
      return ExecuteScope(statement.body);
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
  const JinjaValue::List parts = ItemsOf(item, runtime_);
  if (parts->values.size() != loop.names.size()) {
    throw JinjaFault(item.TypeName() + " has not one item for each variable of the loop");
  }
  for (std::size_t i = 0; i < loop.names.size(); ++i) {
    Set(loop.names[i], parts->values[i]);
  }
}

/// As in Jinja, the condition is evaluated when an item is taken.
JinjaIterator JinjaRenderer::LoopItems(const JinjaStatement& loop, const JinjaValue& all) {
  JinjaIterator items = IteratorOf(all, runtime_);
  if (loop.condition == nullptr) {
    return items;
  }
  const std::size_t outer = InnermostScope();
  return {[this, &loop, items = std::move(items), outer,
           serial = scopes_[outer].serial]() mutable -> std::optional<JinjaValue> {
    if (!IsOpen(outer, serial)) {
      throw JinjaFault("a loop that is used behind its end is not supported");
    }
    while (std::optional<JinjaValue> item = NextOf(items, runtime_)) {
      const OpenScope scope(*this, outer);
      SetItem(loop, *item);
      if (Evaluate(*loop.condition).IsTrue()) {
        return item;
      }
    }
    return std::nullopt;
  }};
}

JinjaRenderer::Flow JinjaRenderer::ExecuteFor(const JinjaStatement& loop) {
  const JinjaValue all = Evaluate(*loop.value);
  JinjaLoop& variable = runtime_.NewLoop(LoopItems(loop, all),
                                         loop.condition == nullptr ? LengthOf(all) : std::nullopt);
  bool has_ended = false;  // An iteration came to the end of the body.
  while (variable.Advance()) {
    runtime_.Step();
    const OpenScope scope(*this);
    Set("loop", JinjaValue(JinjaValue::Variant(&variable)));
    SetItem(loop, variable.item());
    const Flow flow = ExecuteScope(loop.body);
    if (flow == Flow::kBreak) {
      break;
    }
    has_ended = has_ended || flow == Flow::kNext;
  }
  if (has_ended || loop.branches.empty()) {
    return Flow::kNext;
  }
  const OpenScope scope(*this);
  return ExecuteScope(loop.branches.front().body);
}

void JinjaRenderer::ExecuteMacro(const JinjaStatement& macro) {
  const std::size_t scope = InnermostScope();
  const JinjaMacro& value = runtime_.NewMacro({&macro, scope, scopes_[scope].serial});
  Set(macro.names.front(), JinjaValue(JinjaValue::Variant(&value)));
}

void JinjaRenderer::Assign(const JinjaStatement& set, JinjaValue value) {
  if (set.names.size() == 1) {
    Set(set.names.front(), std::move(value));
    return;
  }
  const JinjaValue* space = FindVariable(set.names.front());
  if (space == nullptr || space->As<JinjaNamespace*>() == nullptr) {
    throw JinjaFault(set.names.front() + " is no namespace");
  }
  const std::string& name = set.names.back();
  if (name.starts_with('_')) {
    throw JinjaFault("a namespace has no attribute " + proto::Quoted(name) +
                     ", which begins with an underscore");
  }
  SetMember(MemberOfTemplate(name, std::move(value)), (*space->As<JinjaNamespace*>())->members);
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
  ExecuteScope(body);
  return std::exchange(output_, std::move(before));
}

}  // namespace scorecast::coordinator
