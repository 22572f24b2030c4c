#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_functions.h"
#include "coordinator/text/unicode/python_case.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

/// Whether strip removes a code point: one of the characters, or white space if there are none.
bool IsStripped(char32_t code_point, const MarkedText* characters) {
  if (characters == nullptr) {
    return IsPythonSpace(code_point);
  }
  std::string_view rest = characters->text();
  while (!rest.empty()) {
    const CodePoint first = FirstCodePoint(rest);
    if (first.value == code_point) {
      return true;
    }
    rest.remove_prefix(first.length);
  }
  return false;
}

template <bool before, bool behind>
JinjaValue Strip(const JinjaCall& call) {
  const MarkedText& text = call.Text(0);
  const MarkedText* characters = call.Has(1) && !call.At(1).is_none() ? &call.Text(1) : nullptr;
  call.runtime.UseBytes(text.size() * (1 + (characters != nullptr ? characters->size() : 0)));
  std::string_view left = text.text();
  std::size_t begin = 0;
  while (before && !left.empty() && IsStripped(FirstCodePoint(left).value, characters)) {
    const std::size_t length = FirstCodePoint(left).length;
    left.remove_prefix(length);
    begin += length;
  }
  while (behind && !left.empty() && IsStripped(LastCodePoint(left).value, characters)) {
    left.remove_suffix(LastCodePoint(left).length);
  }
  return JinjaValue(text.Part(begin, left.size()));
}

/// The pieces of `text` between white space. After `max_cuts` of them, unless that is negative,
/// what is left is one piece: it keeps the white space at its other end.
template <bool from_end>
std::vector<JinjaValue> Words(const MarkedText& text, std::int64_t max_cuts,
                              JinjaRuntime& runtime) {
  const auto next = [](std::string_view rest) {
    return from_end ? LastCodePoint(rest) : FirstCodePoint(rest);
  };
  const auto without_space = [](std::string_view rest) {
    return from_end ? WithoutSpaceBehind(rest) : WithoutSpaceBefore(rest);
  };
  const std::string_view whole = text.text();
  std::vector<JinjaValue> words;
  std::string_view rest = without_space(whole);
  while (!rest.empty()) {
    runtime.UseItems(1);
    std::size_t length = 0;
    std::string_view behind = rest;
    const bool takes_all = std::ssize(words) == max_cuts;
    while (!behind.empty() && (takes_all || !IsPythonSpace(next(behind).value))) {
      const std::size_t step = next(behind).length;
      length += step;
      if (from_end) {
        behind.remove_suffix(step);
      } else {
        behind.remove_prefix(step);
      }
    }
    const std::size_t begin = from_end ? behind.size() : whole.size() - rest.size();
    words.emplace_back(text.Part(begin, length));
    rest = without_space(behind);
  }
  if (from_end) {
    std::ranges::reverse(words);
  }
  return words;
}

/// The places at which `text` is cut: those of `separator` from the beginning or from the end.
std::vector<std::size_t> Cuts(const MarkedText& text, const std::string& separator,
                              std::int64_t max_cuts, bool from_end, JinjaRuntime& runtime) {
  std::vector<std::size_t> cuts;
  std::size_t at = from_end ? std::string::npos : 0;
  while (max_cuts < 0 || static_cast<std::int64_t>(cuts.size()) < max_cuts) {
    const std::size_t found =
        from_end ? text.text().rfind(separator, at) : text.text().find(separator, at);
    if (found == std::string::npos) {
      break;
    }
    runtime.UseItems(1);
    cuts.push_back(found);
    if (from_end && found < separator.size()) {
      break;
    }
    at = from_end ? found - separator.size() : found + separator.size();
  }
  if (from_end) {
    std::ranges::reverse(cuts);
  }
  return cuts;
}

template <bool from_end>
JinjaValue Split(const JinjaCall& call) {
  const MarkedText& text = call.Text(0);
  const std::int64_t max_cuts = call.Integer(2, -1);
  call.runtime.UseBytes(text.size());
  if (!call.Has(1) || call.At(1).is_none()) {
    return JinjaValue::OfItems(Words<from_end>(text, max_cuts, call.runtime));
  }
  const MarkedText& separator = call.Text(1);
  if (separator.size() == 0) {
    throw JinjaFault("split needs a separator that is not empty");
  }
  call.runtime.UseSearch(text, separator);
  std::vector<JinjaValue> pieces;
  std::size_t begin = 0;
  for (const std::size_t cut : Cuts(text, separator.text(), max_cuts, from_end, call.runtime)) {
    pieces.emplace_back(text.Part(begin, cut - begin));
    begin = cut + separator.size();
  }
  pieces.emplace_back(text.Part(begin));
  return JinjaValue::OfItems(std::move(pieces));
}

/// The length of the line end that a text begins with; 0 if it begins with none.
std::size_t LineEnd(std::string_view text) {
  if (text.starts_with("\r\n")) {
    return 2;
  }
  const CodePoint first = FirstCodePoint(text);
  const bool is_end = (first.value >= 0x0A && first.value <= 0x0D) ||
                      (first.value >= 0x1C && first.value <= 0x1E) || first.value == 0x85 ||
                      first.value == 0x2028 || first.value == 0x2029;
  return is_end ? first.length : 0;
}

JinjaValue SplitLines(const JinjaCall& call) {
  const MarkedText& text = call.Text(0);
  const bool keeps_ends = call.Integer(1, 0) != 0;
  call.runtime.UseBytes(text.size());
  const std::string_view whole = text.text();
  std::vector<JinjaValue> lines;
  for (std::size_t begin = 0; begin < whole.size();) {
    call.runtime.UseItems(1);
    std::size_t end = begin;
    std::size_t line_end = 0;
    while (end < whole.size() && (line_end = LineEnd(whole.substr(end))) == 0) {
      end += FirstCodePoint(whole.substr(end)).length;
    }
    lines.emplace_back(text.Part(begin, end - begin + (keeps_ends ? line_end : 0)));
    begin = end + line_end;
  }
  return JinjaValue::OfItems(std::move(lines));
}

JinjaValue Replace(const JinjaCall& call) {
  const MarkedText& text = call.Text(0);
  const MarkedText& old = call.Text(1);
  const MarkedText replacement = text.is_markup() ? Escaped(call.Text(2)) : call.Text(2);
  const std::int64_t most = call.Integer(3, -1);
  if (old.size() == 0) {
    throw JinjaFault("replace needs a text that is not empty");
  }
  call.runtime.UseSearch(text, old);
  MarkedText result;
  std::size_t begin = 0;
  for (const std::size_t cut : Cuts(text, old.text(), most, false, call.runtime)) {
    call.runtime.UseBytes(replacement.size());
    result.Append(text.Part(begin, cut - begin));
    result.Append(replacement);
    begin = cut + old.size();
  }
  result.Append(text.Part(begin));
  return JinjaValue(std::move(result).WithMarkup(text.is_markup()));
}

/// Whether the text begins or ends with a text, or one of a tuple of texts.
template <bool at_start>
JinjaValue BeginsOrEnds(const JinjaCall& call) {
  const MarkedText& text = call.Text(0);
  const auto matches = [&](const JinjaValue& part) {
    if (part.text() == nullptr) {
      throw JinjaFault("a string is wanted, not " + part.TypeName());
    }
    const std::string& other = part.text()->text();
    call.runtime.UseBytes(other.size());
    return at_start ? text.text().starts_with(other) : text.text().ends_with(other);
  };
  const bool are_several = call.At(1).is_list(JinjaItemsKind::kTuple);
  return JinjaValue::OfBool(are_several ? std::ranges::any_of(*call.At(1).items(), matches)
                                        : matches(call.At(1)));
}

template <bool from_end>
JinjaValue Find(const JinjaCall& call) {
  const MarkedText& text = call.Text(0);
  const std::string& part = call.Text(1).text();
  call.runtime.UseSearch(text, call.Text(1));
  const std::size_t found = from_end ? text.text().rfind(part) : text.text().find(part);
  if (found == std::string::npos) {
    return JinjaValue::OfInteger(-1);
  }
  const auto characters =
      std::count_if(text.text().begin(), text.text().begin() + static_cast<std::ptrdiff_t>(found),
                    [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return JinjaValue::OfInteger(characters);
}

JinjaValue Count(const JinjaCall& call) {
  const std::vector<JinjaValue>* items = call.At(0).items();
  if (items != nullptr && !call.At(0).is_list(JinjaItemsKind::kView)) {
    call.runtime.Step(static_cast<std::int64_t>(items->size()));
    return JinjaValue::OfInteger(std::ranges::count_if(
        *items, [&](const JinjaValue& item) { return IsEqual(item, call.At(1), call.runtime); }));
  }
  const MarkedText& text = call.Text(0);
  if (call.Text(1).size() == 0) {
    throw JinjaFault("count needs a text that is not empty");
  }
  call.runtime.UseSearch(text, call.Text(1));
  return JinjaValue::OfInteger(
      static_cast<std::int64_t>(Cuts(text, call.Text(1).text(), -1, false, call.runtime).size()));
}

enum class Case { kAllUpper, kAllLower, kTitled, kCapitalized };

template <Case wanted>
JinjaValue WithCase(const JinjaCall& call) {
  const MarkedText& text = call.Text(0);
  call.runtime.UseBytes(text.size());
  const std::string_view whole = text.text();
  MarkedText result;
  std::string character;
  bool is_first = true;  // Of a word, or of the text.
  for (std::size_t at = 0; at < whole.size();) {
    const CodePoint own = FirstCodePoint(whole.substr(at));
    const bool is_title = is_first && (wanted == Case::kTitled || wanted == Case::kCapitalized);
    character.clear();
    AppendInCase(whole, at,
                 is_title                    ? LetterCase::kTitle
                 : wanted == Case::kAllUpper ? LetterCase::kUpper
                                             : LetterCase::kLower,
                 character);
    result.Append(character, text.OriginOf(at));
    is_first = wanted == Case::kTitled && !IsCased(own.value);
    at += own.length;
  }
  return JinjaValue(std::move(result).WithMarkup(text.is_markup()));
}

template <bool at_start>
JinjaValue WithoutAffix(const JinjaCall& call) {
  const MarkedText& text = call.Text(0);
  const std::string& affix = call.Text(1).text();
  call.runtime.UseBytes(text.size());
  const bool has = at_start ? text.text().starts_with(affix) : text.text().ends_with(affix);
  const std::size_t cut = has ? affix.size() : 0;
  return JinjaValue(at_start ? text.Part(cut) : text.Part(0, text.size() - cut));
}

/// The members of an object; a fault names the method if it is another value.
const std::vector<JinjaMember>& MembersOf(const JinjaCall& call, const char* method) {
  const std::vector<JinjaMember>* members = call.At(0).members();
  if (members == nullptr) {
    throw JinjaFault(call.At(0).TypeName() + " has no method " + method);
  }
  call.runtime.UseItems(members->size());
  return *members;
}

JinjaValue ViewOf(std::vector<JinjaValue> values) {
  return JinjaValue::OfItems(std::move(values), JinjaItemsKind::kView);
}

JinjaValue KeyOf(const JinjaMember& member) { return JinjaValue(JinjaValue::Variant(member.key)); }

JinjaValue Items(const JinjaCall& call) {
  std::vector<JinjaValue> items;
  for (const JinjaMember& member : MembersOf(call, "items")) {
    items.push_back(JinjaValue::OfItems({KeyOf(member), member.value}, JinjaItemsKind::kTuple));
  }
  return ViewOf(std::move(items));
}

JinjaValue Keys(const JinjaCall& call) {
  std::vector<JinjaValue> keys;
  for (const JinjaMember& member : MembersOf(call, "keys")) {
    keys.push_back(KeyOf(member));
  }
  return ViewOf(std::move(keys));
}

JinjaValue Values(const JinjaCall& call) {
  std::vector<JinjaValue> values;
  for (const JinjaMember& member : MembersOf(call, "values")) {
    values.push_back(member.value);
  }
  return ViewOf(std::move(values));
}

JinjaValue Get(const JinjaCall& call) {
  if (!call.At(0).is_object()) {
    throw JinjaFault(call.At(0).TypeName() + " has no method get");
  }
  const JinjaValue* found = FindKey(call.At(0), call.At(1));
  return found != nullptr ? *found : call.Has(2) ? call.At(2) : JinjaValue::OfNone();
}

/// A method whose arguments have no names.
JinjaFunction Method(std::string_view name, std::vector<std::string_view> parameters,
                     std::size_t required, JinjaValue (*apply)(const JinjaCall&)) {
  return {name, std::move(parameters), required, apply, /*takes_names=*/false};
}

}  // namespace

const JinjaFunction* FindJinjaMethod(std::string_view name) {
  static const std::array methods = {
      Method("strip", {"self", "chars"}, 1, Strip<true, true>),
      Method("lstrip", {"self", "chars"}, 1, Strip<true, false>),
      Method("rstrip", {"self", "chars"}, 1, Strip<false, true>),
      JinjaFunction{"split", {"self", "sep", "maxsplit"}, 1, Split<false>},
      JinjaFunction{"rsplit", {"self", "sep", "maxsplit"}, 1, Split<true>},
      JinjaFunction{"splitlines", {"self", "keepends"}, 1, SplitLines},
      Method("replace", {"self", "old", "new", "count"}, 3, Replace),
      Method("startswith", {"self", "prefix"}, 2, BeginsOrEnds<true>),
      Method("endswith", {"self", "suffix"}, 2, BeginsOrEnds<false>),
      Method("find", {"self", "sub"}, 2, Find<false>),
      Method("rfind", {"self", "sub"}, 2, Find<true>),
      Method("count", {"self", "value"}, 2, Count),
      Method("upper", {"self"}, 1, WithCase<Case::kAllUpper>),
      Method("lower", {"self"}, 1, WithCase<Case::kAllLower>),
      Method("title", {"self"}, 1, WithCase<Case::kTitled>),
      Method("capitalize", {"self"}, 1, WithCase<Case::kCapitalized>),
      Method("removeprefix", {"self", "prefix"}, 2, WithoutAffix<true>),
      Method("removesuffix", {"self", "suffix"}, 2, WithoutAffix<false>),
      Method("items", {"self"}, 1, Items),
      Method("keys", {"self"}, 1, Keys),
      Method("values", {"self"}, 1, Values),
      Method("get", {"self", "key", "default"}, 2, Get),
  };
  return FindIn(methods, name);
}

}  // namespace scorecast::coordinator
