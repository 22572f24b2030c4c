#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_functions.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/letter_case.h"

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

/// The pieces of `text` between white space, from its beginning.
std::vector<JinjaValue> Words(const MarkedText& text, std::int64_t max_cuts,
                              JinjaRuntime& runtime) {
  std::vector<JinjaValue> words;
  std::string_view rest = WithoutSpaceBefore(text.text());
  while (!rest.empty()) {
    runtime.UseItems(1);
    const std::size_t begin = text.size() - rest.size();
    if (static_cast<std::int64_t>(words.size()) == max_cuts) {
      words.emplace_back(text.Part(begin, WithoutSpaceBehind(rest).size()));
      break;
    }
    std::size_t length = 0;
    while (length < rest.size() && !IsPythonSpace(FirstCodePoint(rest.substr(length)).value)) {
      length += FirstCodePoint(rest.substr(length)).length;
    }
    words.emplace_back(text.Part(begin, length));
    rest = WithoutSpaceBefore(rest.substr(length));
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
    if (from_end && max_cuts >= 0) {
      throw JinjaFault("rsplit at white space with a limit is not supported");
    }
    return JinjaValue::OfItems(Words(text, max_cuts, call.runtime));
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

JinjaValue SplitLines(const JinjaCall& call) {
  const MarkedText& text = call.Text(0);
  call.runtime.UseBytes(text.size());
  std::vector<JinjaValue> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    call.runtime.UseItems(1);
    const std::size_t end = std::min(text.text().find_first_of("\r\n", begin), text.size());
    lines.emplace_back(text.Part(begin, end - begin));
    begin = end + (text.text().compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  return JinjaValue::OfItems(std::move(lines));
}

JinjaValue Replace(const JinjaCall& call) {
  const MarkedText& text = call.Text(0);
  const MarkedText& old = call.Text(1);
  const MarkedText& replacement = call.Text(2);
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
  return JinjaValue(std::move(result));
}

/// Whether the text begins or ends with a text, or one of a list of texts.
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
  const std::vector<JinjaValue>* several = call.At(1).items();
  return JinjaValue::OfBool(several != nullptr ? std::ranges::any_of(*several, matches)
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
  if (const std::vector<JinjaValue>* items = call.At(0).items()) {
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

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

enum class Case { kAllUpper, kAllLower, kTitled, kCapitalized };

/// Changes letters of ASCII. Templates change the case of roles, not of what users write.
template <Case wanted>
JinjaValue WithCase(const JinjaCall& call) {
  MarkedText text = call.Text(0);
  call.runtime.UseBytes(text.size());
  char before = ' ';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text.text()[i];
    const bool is_first = wanted == Case::kTitled ? !IsLetter(before) : i == 0;
    const bool is_upper = wanted == Case::kAllUpper || (wanted != Case::kAllLower && is_first);
    text.SetByte(i, is_upper ? Upper(c) : proto::ToLower(c));
    before = c;
  }
  return JinjaValue(std::move(text));
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
const std::vector<std::pair<std::string, JinjaValue>>& MembersOf(const JinjaCall& call,
                                                                 const char* method) {
  if (call.At(0).members() == nullptr) {
    throw JinjaFault(call.At(0).TypeName() + " has no method " + method);
  }
  call.runtime.UseItems(call.At(0).members()->size());
  return *call.At(0).members();
}

JinjaValue Items(const JinjaCall& call) {
  std::vector<JinjaValue> items;
  for (const auto& [key, value] : MembersOf(call, "items")) {
    items.push_back(JinjaValue::OfItems({JinjaValue::OfTemplate(key), value}));
  }
  return JinjaValue::OfItems(std::move(items));
}

JinjaValue Keys(const JinjaCall& call) {
  std::vector<JinjaValue> keys;
  for (const auto& [key, value] : MembersOf(call, "keys")) {
    keys.push_back(JinjaValue::OfTemplate(key));
  }
  return JinjaValue::OfItems(std::move(keys));
}

JinjaValue Values(const JinjaCall& call) {
  std::vector<JinjaValue> values;
  for (const auto& [key, value] : MembersOf(call, "values")) {
    values.push_back(value);
  }
  return JinjaValue::OfItems(std::move(values));
}

JinjaValue Get(const JinjaCall& call) {
  MembersOf(call, "get");
  const JinjaValue* found =
      call.At(1).text() != nullptr ? call.At(0).Find(call.Text(1).text()) : nullptr;
  return found != nullptr ? *found : call.Has(2) ? call.At(2) : JinjaValue::OfNone();
}

}  // namespace

const JinjaFunction* FindJinjaMethod(std::string_view name) {
  static const std::array methods = {
      JinjaFunction{"strip", {"self", "chars"}, 1, Strip<true, true>},
      JinjaFunction{"lstrip", {"self", "chars"}, 1, Strip<true, false>},
      JinjaFunction{"rstrip", {"self", "chars"}, 1, Strip<false, true>},
      JinjaFunction{"split", {"self", "sep", "maxsplit"}, 1, Split<false>},
      JinjaFunction{"rsplit", {"self", "sep", "maxsplit"}, 1, Split<true>},
      JinjaFunction{"splitlines", {"self"}, 1, SplitLines},
      JinjaFunction{"replace", {"self", "old", "new", "count"}, 3, Replace},
      JinjaFunction{"startswith", {"self", "prefix"}, 2, BeginsOrEnds<true>},
      JinjaFunction{"endswith", {"self", "suffix"}, 2, BeginsOrEnds<false>},
      JinjaFunction{"find", {"self", "sub"}, 2, Find<false>},
      JinjaFunction{"rfind", {"self", "sub"}, 2, Find<true>},
      JinjaFunction{"count", {"self", "value"}, 2, Count},
      JinjaFunction{"upper", {"self"}, 1, WithCase<Case::kAllUpper>},
      JinjaFunction{"lower", {"self"}, 1, WithCase<Case::kAllLower>},
      JinjaFunction{"title", {"self"}, 1, WithCase<Case::kTitled>},
      JinjaFunction{"capitalize", {"self"}, 1, WithCase<Case::kCapitalized>},
      JinjaFunction{"removeprefix", {"self", "prefix"}, 2, WithoutAffix<true>},
      JinjaFunction{"removesuffix", {"self", "suffix"}, 2, WithoutAffix<false>},
      JinjaFunction{"items", {"self"}, 1, Items},
      JinjaFunction{"keys", {"self"}, 1, Keys},
      JinjaFunction{"values", {"self"}, 1, Values},
      JinjaFunction{"get", {"self", "key", "default"}, 2, Get},
  };
  return FindIn(methods, name);
}

}  // namespace scorecast::coordinator
