#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "coordinator/chat/jinja_iteration.h"
#include "coordinator/chat/jinja_value.h"
#include "coordinator/text/models/interruption.h"

namespace scorecast::coordinator {

/// What one rendering may use, and what it owns. Templates are files of a model, but messages are
/// a user's: both together must not hold up a server.
class JinjaRuntime {
 public:
  /// Evaluations, statements and items of lists.
  static constexpr std::int64_t kMaxSteps = std::int64_t{1} << 22;
  /// Bytes of all texts that are made or searched.
  static constexpr std::int64_t kMaxBytes = std::int64_t{1} << 26;
  /// Nested evaluations and statements, with those of macros.
  static constexpr int kMaxDepth = 500;

  /// `time` is what strftime_now tells, in seconds since 1970. `interruption` may be null.
  JinjaRuntime(std::int64_t time, const Interruption* interruption)
      : time_(time), interruption_(interruption) {}
  JinjaRuntime(const JinjaRuntime&) = delete;
  JinjaRuntime& operator=(const JinjaRuntime&) = delete;

  // Both throw JinjaFault if there would be too many, or if nobody waits for the text.

  void Step(std::int64_t steps = 1);
  void UseBytes(std::size_t bytes);
  /// The same for a search of `needle` in `text`.
  void UseSearch(const MarkedText& text, const MarkedText& needle) {
    UseBytes(text.size() * (1 + needle.size() / 64));
  }
  /// To be called before a list is made, whose items take memory.
  void UseItems(std::size_t items) { Step(8 * static_cast<std::int64_t>(items)); }

  std::int64_t time() const { return time_; }
  JinjaIterator& NewIterator(JinjaIterator items) {
    UseItems(4);
    return iterators_.emplace_back(std::move(items));
  }
  JinjaLoop& NewLoop(JinjaIterator items, std::optional<std::int64_t> length) {
    UseItems(2);
    return loops_.emplace_back(std::move(items), length, *this);
  }
  const JinjaMacro& NewMacro(JinjaMacro macro) { return macros_.emplace_back(macro); }
  JinjaNamespace& NewNamespace() { return namespaces_.emplace_back(); }

  /// One level of nesting, as long as it exists.
  class Level {
   public:
    explicit Level(JinjaRuntime& runtime) : runtime_(runtime) { runtime_.Enter(); }
    ~Level() { --runtime_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    JinjaRuntime& runtime_;
  };

 private:
  void Enter();

  const std::int64_t time_;
  const Interruption* const interruption_;
  std::int64_t steps_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t steps_at_look_ = 0;  ///< When `interruption_` was looked at.
  int depth_ = 0;
  std::deque<JinjaIterator> iterators_;
  std::deque<JinjaLoop> loops_;
  std::deque<JinjaMacro> macros_;
  std::deque<JinjaNamespace> namespaces_;
};

}  // namespace scorecast::coordinator
