#include "coordinator/chat/jinja_functions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

JinjaValue Range(const JinjaCall& call) {
  constexpr std::int64_t kMaxRange = 100'000;  // As in Jinja's sandbox.
  std::int64_t begin = call.Integer(0, 0);
  std::int64_t end = call.Integer(1, 0);
  const std::int64_t step = call.Integer(2, 1);
  if (!call.Has(1)) {
    end = std::exchange(begin, 0);
  }
  constexpr std::int64_t kMaxBound = std::int64_t{1} << 60;
  if (step == 0 || std::abs(step) > kMaxBound || std::abs(begin) > kMaxBound ||
      std::abs(end) > kMaxBound) {
    throw JinjaFault("range has a number that makes no sense");
  }
  std::vector<JinjaValue> items;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    if (static_cast<std::int64_t>(items.size()) == kMaxRange) {
      throw JinjaFault("range has too many numbers", {}, JinjaFault::Kind::kLimit);
    }
    call.runtime.UseItems(1);
    items.push_back(JinjaValue::OfInteger(i));
  }
  return JinjaValue::OfItems(std::move(items));
}

JinjaValue MakeNamespace(const JinjaCall& call) {
  JinjaNamespace& space = call.runtime.NewNamespace();
  if (call.Has(0)) {
    if (call.At(0).members() == nullptr) {
      throw JinjaFault("namespace takes an object, not " + call.At(0).TypeName());
    }
    space.members = *call.At(0).members();
  }
  for (const auto& [name, value] : call.others) {
    space.Set(name, value);
  }
  return JinjaValue(JinjaValue::Variant(&space));
}

JinjaValue MakeObject(const JinjaCall& call) {
  JinjaNamespace members;
  if (call.Has(0) && call.At(0).members() != nullptr) {
    members.members = *call.At(0).members();
  }
  for (const auto& [name, value] : call.others) {
    members.Set(name, value);
  }
  return JinjaValue::OfMembers(std::move(members.members));
}

JinjaValue RaiseException(const JinjaCall& call) {
  throw JinjaFault(call.At(0).ToText().text(), {}, JinjaFault::Kind::kRaised);
}

JinjaValue StrftimeNow(const JinjaCall& call) {
  const std::string& format = call.Text(0).text();
  if (format.empty()) {
    return JinjaValue::OfTemplate("");
  }
  constexpr std::size_t kMaxFormat = 256;
  if (format.size() > kMaxFormat) {
    throw JinjaFault("the format of strftime_now is too long", {}, JinjaFault::Kind::kLimit);
  }
  const auto time = static_cast<std::time_t>(call.runtime.time());
  std::tm local{};
  localtime_r(&time, &local);
  std::array<char, 4096> buffer;
  const std::size_t length = std::strftime(buffer.data(), buffer.size(), format.c_str(), &local);
  return JinjaValue::OfTemplate(ReplaceInvalidUtf8({buffer.data(), length}));
}

}  // namespace

const JinjaValue& JinjaCall::At(std::size_t i) const {
  static const JinjaValue undefined;
  return Has(i) ? *arguments[i] : undefined;
}

const MarkedText& JinjaCall::Text(std::size_t i) const {
  const MarkedText* text = At(i).text();
  if (text == nullptr) {
    throw JinjaFault("a string is wanted, not " + At(i).TypeName());
  }
  return *text;
}

std::int64_t JinjaCall::Integer(std::size_t i, std::int64_t if_absent) const {
  if (!Has(i)) {
    return if_absent;
  }
  if (!At(i).integer()) {
    throw JinjaFault("an integer is wanted, not " + At(i).TypeName());
  }
  return *At(i).integer();
}

const JinjaFunction* FindIn(std::span<const JinjaFunction> functions, std::string_view name) {
  const auto found = std::ranges::find(functions, name, &JinjaFunction::name);
  return found == functions.end() ? nullptr : &*found;
}

const JinjaFunction* FindJinjaGlobal(std::string_view name) {
  static const std::array functions = {
      JinjaFunction{"range", {"start", "stop", "step"}, 1, Range},
      JinjaFunction{"namespace", {"values"}, 0, MakeNamespace, true},
      JinjaFunction{"dict", {"values"}, 0, MakeObject, true},
      JinjaFunction{"raise_exception", {"message"}, 1, RaiseException},
      JinjaFunction{"strftime_now", {"format"}, 1, StrftimeNow},
  };
  return FindIn(functions, name);
}

JinjaValue::List ItemsOf(const JinjaValue& value, JinjaRuntime& runtime) {
  if (const JinjaValue::List* list = value.As<JinjaValue::List>()) {
    runtime.Step(static_cast<std::int64_t>((*list)->values.size()));
    return *list;
  }
  std::vector<JinjaValue> items;
  if (const MarkedText* text = value.text()) {
    runtime.UseItems(text->size());
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t length = FirstCodePoint(std::string_view(text->text()).substr(at)).length;
      items.emplace_back(text->Part(at, length));
      at += length;
    }
  } else if (value.members() != nullptr) {
    runtime.UseItems(value.members()->size());
    for (const auto& [key, member] : *value.members()) {
      items.push_back(JinjaValue::OfTemplate(key));
    }
  } else if (!value.is_undefined()) {
    throw JinjaFault(value.TypeName() + " has no items");
  }
  return *JinjaValue::OfItems(std::move(items)).As<JinjaValue::List>();
}

bool IsEqual(const JinjaValue& a, const JinjaValue& b, JinjaRuntime& runtime) {
  runtime.Step(std::min(a.size().weight, b.size().weight) - 1);
  return Equal(a, b);
}

}  // namespace scorecast::coordinator
