#include "coordinator/chat/jinja_functions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <utility>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/one_line.h"

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
  return JinjaValue::OfItems(std::move(items), JinjaItemsKind::kRange);
}

/// Python's dict(…): the members of an object or of a list of pairs, and the arguments with names.
std::vector<JinjaMember> MembersFrom(const JinjaCall& call) {
  constexpr std::int64_t kMembersOfStep = 8;
  std::vector<JinjaMember> members;
  const auto add = [&](JinjaMember member) {
    call.runtime.UseItems(1);
    call.runtime.Step(std::ssize(members) / kMembersOfStep);
    SetMember(std::move(member), members);
  };
  if (call.At(0).is_object()) {
    call.runtime.UseItems(call.At(0).members()->size());
    members = *call.At(0).members();
  } else if (call.At(0).is_undefined() && call.Has(0)) {
    throw JinjaFault("an object cannot be made of " + call.At(0).TypeName());
  } else if (call.Has(0)) {
    const JinjaValue::List pairs = ItemsOf(call.At(0), call.runtime);
    for (const JinjaValue& pair : pairs->values) {
      const JinjaValue::List parts = ItemsOf(pair, call.runtime);
      if (parts->values.size() != 2 || parts->values[0].text() == nullptr) {
        throw JinjaFault("an object is made of pairs of a string and a value");
      }
      add({*parts->values[0].As<JinjaValue::Text>(), parts->values[1]});
    }
  }
  for (const auto& [name, value] : call.others) {
    add(MemberOfTemplate(name, value));
  }
  return members;
}

JinjaValue MakeNamespace(const JinjaCall& call) {
  JinjaNamespace& space = call.runtime.NewNamespace();
  space.members = MembersFrom(call);
  for (const JinjaMember& member : space.members) {
    if (member.name().starts_with('_')) {
      throw JinjaFault("a namespace has no attribute " + proto::Quoted(member.name()) +
                       ", which begins with an underscore");
    }
  }
  return JinjaValue(JinjaValue::Variant(&space));
}

JinjaValue MakeObject(const JinjaCall& call) { return JinjaValue::OfMembers(MembersFrom(call)); }

JinjaValue RaiseException(const JinjaCall& call) {
  throw JinjaFault(call.At(0).ToText().text(), {}, JinjaFault::Kind::kRaised);
}

/// A format of strftime without what Python leaves out, because the time has no zone.
std::string FormatWithoutZone(const std::string& format) {
  std::string kept;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      kept += format[i];
      continue;
    }
    const std::size_t kind = format.find_first_not_of("-_0^#123456789EO", i + 1);
    const char conversion = kind == std::string::npos ? '%' : format[kind];
    if ((conversion == 'z' || conversion == 'Z') && kind == i + 1) {
      i = kind;
      continue;
    }
    if (std::string_view("fzZ:").find(conversion) != std::string_view::npos) {
      throw JinjaFault("the format " + proto::Quoted(format.substr(i, kind - i + 1)) +
                       " of strftime_now is not supported");
    }
    kept += format.substr(i, 2);
    ++i;
  }
  return kept;
}

JinjaValue StrftimeNow(const JinjaCall& call) {
  const std::string& given = call.Text(0).text();
  constexpr std::size_t kMaxFormat = 256;
  if (given.size() > kMaxFormat || given.find('\0') != std::string::npos) {
    throw JinjaFault("the format of strftime_now is too long", {}, JinjaFault::Kind::kLimit);
  }
  // A text is never empty, so that one that is too long can be told.
  const std::string format = FormatWithoutZone(given) + ".";
  const auto time = static_cast<std::time_t>(call.runtime.time());
  std::tm local{};
  localtime_r(&time, &local);
  std::array<char, 4096> buffer;
  const std::size_t length = std::strftime(buffer.data(), buffer.size(), format.c_str(), &local);
  if (length == 0) {
    throw JinjaFault("the text of strftime_now is too long", {}, JinjaFault::Kind::kLimit);
  }
  return JinjaValue::OfTemplate(ReplaceInvalidUtf8({buffer.data(), length - 1}));
}

/// Throws JinjaFault if the value can be no key of an object.
void CheckKey(const JinjaValue& key) {
  if (key.is_list(JinjaItemsKind::kList) || key.is_list(JinjaItemsKind::kView) || key.is_object()) {
    throw JinjaFault(key.TypeName() + " is no key of an object");
  }
}

}  // namespace

const JinjaValue& JinjaCall::At(std::size_t i) const {
  static const JinjaValue undefined;
  return Has(i) ? *arguments[i] : undefined;
}

std::vector<JinjaValue> JinjaCall::From(std::size_t first) const {
  std::vector<JinjaValue> values;
  for (std::size_t i = first; i < arguments.size(); ++i) {
    values.push_back(At(i));
  }
  return values;
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
      JinjaFunction{"range", {"start", "stop", "step"}, 1, Range, false},
      JinjaFunction{"namespace", {"values"}, 0, MakeNamespace, false, false, true},
      JinjaFunction{"dict", {"values"}, 0, MakeObject, false, false, true},
      JinjaFunction{"raise_exception", {"message"}, 1, RaiseException},
      JinjaFunction{"strftime_now", {"format"}, 1, StrftimeNow},
  };
  return FindIn(functions, name);
}

std::string ArgumentsFault(const JinjaFunction& function, const std::string& named,
                           std::size_t positional, std::span<const std::string_view> keywords) {
  if (positional > function.parameters.size() && !function.takes_more) {
    return named + " has too many arguments";
  }
  std::size_t given = std::min(positional, function.required);
  for (std::size_t i = 0; i < keywords.size(); ++i) {
    const std::string argument = "the argument " + proto::Quoted(keywords[i]);
    if (std::ranges::count(keywords.first(i), keywords[i]) > 0) {
      return argument + " is given twice";
    }
    const auto parameter = std::ranges::find(function.parameters, keywords[i]);
    const auto index = static_cast<std::size_t>(parameter - function.parameters.begin());
    if (parameter == function.parameters.end() || !function.takes_names) {
      if (!function.takes_others) {
        return argument + " of " + named + " is not supported";
      }
    } else if (index < positional) {
      return argument + " is given twice";
    } else if (index < function.required) {
      ++given;
    }
  }
  return given < function.required ? named + " has too few arguments" : "";
}

JinjaValue Apply(const JinjaFunction& function, std::vector<JinjaValue> positional,
                 JinjaKeywords keywords, JinjaRuntime& runtime) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : keywords) {
    names.emplace_back(name);
  }
  const std::string fault =
      ArgumentsFault(function, std::string(function.name), positional.size(), names);
  if (!fault.empty()) {
    throw JinjaFault(fault);
  }
  JinjaCall call{{}, {}, runtime};
  call.arguments.assign(std::make_move_iterator(positional.begin()),
                        std::make_move_iterator(positional.end()));
  for (auto& [name, value] : keywords) {
    const auto parameter = static_cast<std::size_t>(std::ranges::find(function.parameters, name) -
                                                    function.parameters.begin());
    if (parameter == function.parameters.size() || !function.takes_names) {
      call.others.emplace_back(std::move(name), std::move(value));
      continue;
    }
    call.arguments.resize(std::max(call.arguments.size(), parameter + 1));
    call.arguments[parameter] = std::move(value);
  }
  return function.apply(call);
}

bool IsEqual(const JinjaValue& a, const JinjaValue& b, JinjaRuntime& runtime) {
  runtime.Step(std::min(a.size().weight, b.size().weight) - 1);
  return Equal(a, b);
}

const JinjaValue* FindKey(const JinjaValue& object, const JinjaValue& key) {
  if (key.is_list(JinjaItemsKind::kList) || key.is_list(JinjaItemsKind::kView) || key.is_object()) {
    throw JinjaFault(key.TypeName() + " is no key of an object");
  }
  return key.text() != nullptr ? object.Find(key.text()->text()) : nullptr;
}

bool Contains(const JinjaValue& all, const JinjaValue& one, JinjaRuntime& runtime) {
  if (const MarkedText* text = all.text()) {
    if (one.text() == nullptr) {
      throw JinjaFault("a string has only strings in it, not " + one.TypeName());
    }
    runtime.UseSearch(*text, *one.text());
    return text->text().find(one.text()->text()) != std::string::npos;
  }
  if (all.is_object()) {
    return FindKey(all, one) != nullptr;
  }
  if (all.is_list(JinjaItemsKind::kView)) {
    CheckKey(one);
  }
  JinjaIterator items = IteratorOf(all, runtime);
  while (const std::optional<JinjaValue> item = NextOf(items, runtime)) {
    if (IsEqual(*item, one, runtime)) {
      return true;
    }
  }
  return false;
}

}  // namespace scorecast::coordinator
