#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "coordinator/chat/jinja_value.h"

namespace scorecast::coordinator {

class JinjaRuntime;

/// Items that come one after another, and each of them once: an iterator of Python's, such as what
/// the filter `map` makes.
struct JinjaIterator {
  std::function<std::optional<JinjaValue>()> next;  ///< Gives nothing behind the last item.
  bool is_running = false;                          ///< `next` is being called.
};

/// The variable `loop`.
class JinjaLoop {
 public:
  /// `length` is absent if only the last item tells it.
  JinjaLoop(JinjaIterator items, std::optional<std::int64_t> length, JinjaRuntime& runtime)
      : items_(std::move(items)), length_(length), runtime_(runtime) {}

  /// Goes to the next item, at first to the first one. False if there is none.
  bool Advance();
  const JinjaValue& item() const { return item_; }

  /// Absent if loops have no such attribute. As in Jinja, some attributes take further items from
  /// what the loop goes through.
  std::optional<JinjaValue> Attribute(std::string_view name);

 private:
  bool HasNext();
  std::int64_t Length();

  JinjaIterator items_;
  std::optional<std::int64_t> length_;
  JinjaRuntime& runtime_;
  std::optional<JinjaValue> next_;  ///< The item behind the current one, if it was taken.
  JinjaValue before_;
  JinjaValue item_;
  std::int64_t index_ = 0;  ///< Of the current item, from 1.
};

/// The next item of an iterator, whose time and nesting count.
std::optional<JinjaValue> NextOf(JinjaIterator& items, JinjaRuntime& runtime);

/// An iterator as a value.
JinjaValue NewIterator(JinjaIterator items, JinjaRuntime& runtime);

/// What a loop goes through: the items of a list, the keys of an object, the characters of a text.
/// Throws JinjaFault for other values.
JinjaIterator IteratorOf(const JinjaValue& value, JinjaRuntime& runtime);

/// All of these items. An iterator is at its end afterwards.
JinjaValue::List ItemsOf(const JinjaValue& value, JinjaRuntime& runtime);

/// Python's len(): absent if the value has none.
std::optional<std::int64_t> LengthOf(const JinjaValue& value);

}  // namespace scorecast::coordinator
