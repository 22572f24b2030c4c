#include "coordinator/chat/jinja_iteration.h"

#include <algorithm>
#include <iterator>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_runtime.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

JinjaValue ListOf(std::vector<JinjaValue> items) { return JinjaValue::OfItems(std::move(items)); }

/// The items of a value that is no iterator.
JinjaValue::List StoredItems(const JinjaValue& value, JinjaRuntime& runtime) {
  if (const JinjaValue::List* list = value.As<JinjaValue::List>()) {
    return *list;
  }
  std::vector<JinjaValue> items;
  if (const MarkedText* text = value.text()) {
    runtime.UseItems(text->size());
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t length = FirstCodePoint(std::string_view(text->text()).substr(at)).length;
      items.emplace_back(text->Part(at, length).WithMarkup(false));
      at += length;
    }
  } else if (const std::vector<JinjaMember>* members = value.members()) {
    runtime.UseItems(members->size());
    for (const JinjaMember& member : *members) {
      items.emplace_back(JinjaValue::Variant(member.key));
    }
  } else if (!value.is_undefined()) {
    throw JinjaFault(value.TypeName() + " has no items");
  }
  return *ListOf(std::move(items)).As<JinjaValue::List>();
}

}  // namespace

bool JinjaLoop::HasNext() {
  if (!next_) {
    next_ = NextOf(items_, runtime_);
  }
  return next_.has_value();
}

bool JinjaLoop::Advance() {
  if (!HasNext()) {
    return false;
  }
  before_ = std::exchange(item_, *std::exchange(next_, std::nullopt));
  ++index_;
  return true;
}

std::int64_t JinjaLoop::Length() {
  if (!length_) {
    std::vector<JinjaValue> rest;
    while (std::optional<JinjaValue> item = NextOf(items_, runtime_)) {
      runtime_.UseItems(1);
      rest.push_back(*std::move(item));
    }
    length_ = index_ + std::ssize(rest) + (next_ ? 1 : 0);
    items_ = IteratorOf(ListOf(std::move(rest)), runtime_);
  }
  return *length_;
}

std::optional<JinjaValue> JinjaLoop::Attribute(std::string_view name) {
  const auto integer = [](std::int64_t value) { return JinjaValue::OfInteger(value); };
  if (name == "index" || name == "index0") {
    return integer(index_ - (name == "index" ? 0 : 1));
  }
  if (name == "revindex" || name == "revindex0") {
    return integer(Length() - index_ + (name == "revindex" ? 1 : 0));
  }
  if (name == "length") {
    return integer(Length());
  }
  if (name == "depth" || name == "depth0") {
    return integer(name == "depth" ? 1 : 0);
  }
  if (name == "first" || name == "last") {
    return JinjaValue::OfBool(name == "first" ? index_ == 1 : !HasNext());
  }
  if (name == "previtem") {
    return index_ == 1 ? JinjaValue() : before_;
  }
  if (name == "nextitem") {
    return HasNext() ? *next_ : JinjaValue();
  }
  return std::nullopt;
}

std::optional<JinjaValue> NextOf(JinjaIterator& items, JinjaRuntime& runtime) {
  const JinjaRuntime::Level level(runtime);
  runtime.Step();
  if (items.is_running) {
    throw JinjaFault("an iterator that is used to make its own items is not supported");
  }
  items.is_running = true;  // A fault ends the rendering.
  std::optional<JinjaValue> next = items.next();
  items.is_running = false;
  return next;
}

JinjaValue NewIterator(JinjaIterator items, JinjaRuntime& runtime) {
  return JinjaValue(JinjaValue::Variant(&runtime.NewIterator(std::move(items))));
}

JinjaIterator IteratorOf(const JinjaValue& value, JinjaRuntime& runtime) {
  if (JinjaIterator* const* own = value.As<JinjaIterator*>()) {
    return {[&items = **own, &runtime] { return NextOf(items, runtime); }};
  }
  return {[list = StoredItems(value, runtime), at = std::size_t{0}]() mutable {
    return at < list->values.size() ? std::optional(list->values[at++]) : std::nullopt;
  }};
}

JinjaValue::List ItemsOf(const JinjaValue& value, JinjaRuntime& runtime) {
  JinjaIterator* const* own = value.As<JinjaIterator*>();
  if (own == nullptr) {
    JinjaValue::List list = StoredItems(value, runtime);
    runtime.Step(static_cast<std::int64_t>(list->values.size()));
    return list;
  }
  std::vector<JinjaValue> items;
  while (std::optional<JinjaValue> next = NextOf(**own, runtime)) {
    runtime.UseItems(1);
    items.push_back(*std::move(next));
  }
  return *ListOf(std::move(items)).As<JinjaValue::List>();
}

std::optional<std::int64_t> LengthOf(const JinjaValue& value) {
  if (const MarkedText* text = value.text()) {
    return std::ranges::count_if(
        text->text(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  }
  if (value.items() != nullptr) {
    return std::ssize(*value.items());
  }
  if (value.is_object()) {
    return std::ssize(*value.members());
  }
  return value.is_undefined() ? std::optional<std::int64_t>(0) : std::nullopt;
}

}  // namespace scorecast::coordinator
