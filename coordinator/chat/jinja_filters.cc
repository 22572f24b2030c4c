#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_functions.h"
#include "coordinator/text/unicode/python_case.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

/// Applies the method of this name, to a value as text.
template <const char* name>
JinjaValue AsMethod(const JinjaCall& call) {
  static const JinjaFunction& method = *FindJinjaMethod(name);
  JinjaCall own{call.arguments, {}, call.runtime};
  own.arguments[0] = JinjaValue(call.At(0).ToText());
  return method.apply(own);
}

constexpr char kStrip[] = "strip";
constexpr char kUpper[] = "upper";
constexpr char kLower[] = "lower";
constexpr char kCapitalize[] = "capitalize";

JinjaValue TextFilter(const JinjaCall& call) { return JinjaValue(call.At(0).ToText()); }

JinjaValue Safe(const JinjaCall& call) { return JinjaValue(call.At(0).ToText().WithMarkup(true)); }

/// All arguments as text, without Markup.
JinjaValue ReplaceFilter(const JinjaCall& call) {
  static const JinjaFunction& method = *FindJinjaMethod("replace");
  JinjaCall own{call.arguments, {}, call.runtime};
  for (std::size_t i = 0; i < 3; ++i) {
    own.arguments[i] = JinjaValue(call.At(i).ToText().WithMarkup(false));
  }
  if (call.At(3).is_none()) {
    own.arguments.resize(3);
  }
  return method.apply(own);
}

/// Whether Jinja's `title` begins a word behind this character.
bool IsBeforeWord(char32_t character) {
  return IsPythonSpace(character) ||
         (character < 0x80 &&
          std::string_view("-({[<").find(static_cast<char>(character)) != std::string_view::npos);
}

/// Words begin behind white space and a few brackets: not where those of Python's method begin.
JinjaValue Title(const JinjaCall& call) {
  const MarkedText text = call.At(0).ToText();
  call.runtime.UseBytes(text.size());
  const std::string_view whole = text.text();
  MarkedText titled;
  std::string character;
  // `rest` is the word behind its first character, so that a sigma at its beginning ends no word.
  for (std::size_t at = 0; at < whole.size();) {
    std::size_t end = at;
    const auto next = [&] { return FirstCodePoint(whole.substr(end)); };
    const bool is_word = !IsBeforeWord(next().value);
    while (end < whole.size() && IsBeforeWord(next().value) != is_word) {
      end += next().length;
    }
    const std::string_view word = whole.substr(at, end - at);
    const std::size_t first = FirstCodePoint(word).length;
    const std::string_view rest = word.substr(first);
    for (std::size_t i = 0; i < word.size(); i += FirstCodePoint(word.substr(i)).length) {
      character.clear();
      if (i == 0) {
        AppendInCase(word, 0, LetterCase::kUpper, character);
      } else {
        AppendInCase(rest, i - first, LetterCase::kLower, character);
      }
      titled.Append(character, text.OriginOf(at + i));
    }
    at = end;
  }
  return JinjaValue(std::move(titled));
}

JinjaValue Length(const JinjaCall& call) {
  const JinjaValue& value = call.At(0);
  call.runtime.UseBytes(value.text() != nullptr ? value.text()->size() : 0);
  const std::optional<std::int64_t> length = LengthOf(value);
  if (!length) {
    throw JinjaFault(value.TypeName() + " has no length");
  }
  return JinjaValue::OfInteger(*length);
}

JinjaValue Default(const JinjaCall& call) {
  const JinjaValue& value = call.At(0);
  const bool is_absent = value.is_undefined() || (call.At(2).IsTrue() && !value.IsTrue());
  if (!is_absent) {
    return value;
  }
  return call.Has(1) ? call.At(1) : JinjaValue::OfTemplate("");
}

/// The pairs of an object's keys and values.
JinjaValue::List PairsOf(const JinjaCall& call) {
  static const JinjaFunction& items = *FindJinjaMethod("items");
  return *items.apply(call).As<JinjaValue::List>();
}

JinjaValue Members(const JinjaCall& call) {
  const JinjaValue pairs = call.At(0).is_undefined()
                               ? JinjaValue::OfItems({})
                               : JinjaValue(JinjaValue::Variant(PairsOf(call)));
  return NewIterator(IteratorOf(pairs, call.runtime), call.runtime);
}

/// Members in the order of their keys, whose case does not count.
JinjaValue SortedMembers(const JinjaCall& call) {
  std::vector<std::pair<std::string, JinjaValue>> members;
  const JinjaValue::List pairs = PairsOf(call);
  for (const JinjaValue& member : pairs->values) {
    const std::string& key = member.items()->front().text()->text();
    call.runtime.UseBytes(key.size());
    std::string lower;
    for (std::size_t i = 0; i < key.size();
         i += FirstCodePoint(std::string_view(key).substr(i)).length) {
      AppendInCase(key, i, LetterCase::kLower, lower);
    }
    members.emplace_back(std::move(lower), member);
  }
  std::ranges::stable_sort(members, {}, &std::pair<std::string, JinjaValue>::first);
  std::vector<JinjaValue> sorted;
  for (auto& [key, member] : members) {
    sorted.push_back(std::move(member));
  }
  return JinjaValue::OfItems(std::move(sorted));
}

JinjaValue ListFilter(const JinjaCall& call) {
  return call.At(0).is_list(JinjaItemsKind::kList)
             ? call.At(0)
             : JinjaValue::OfItems(ItemsOf(call.At(0), call.runtime)->values);
}

JinjaValue First(const JinjaCall& call) {
  JinjaIterator items = IteratorOf(call.At(0), call.runtime);
  return NextOf(items, call.runtime).value_or(JinjaValue());
}

JinjaValue Last(const JinjaCall& call) {
  const JinjaValue& value = call.At(0);
  if (value.As<JinjaIterator*>() != nullptr) {
    throw JinjaFault("an iterator has no last item");
  }
  if (value.text() != nullptr) {
    return ItemOf(value, JinjaValue::OfInteger(-1), call.runtime);
  }
  const JinjaValue::List list = ItemsOf(value, call.runtime);
  return list->values.empty() ? JinjaValue() : list->values.back();
}

JinjaValue Reversed(const JinjaCall& call) {
  const JinjaValue& value = call.At(0);
  const JinjaValue::List list = ItemsOf(value, call.runtime);
  call.runtime.UseItems(list->values.size());
  std::vector<JinjaValue> items(list->values.rbegin(), list->values.rend());
  if (value.text() == nullptr) {
    const JinjaValue reversed = JinjaValue::OfItems(std::move(items));
    return value.As<JinjaIterator*>() != nullptr
               ? reversed
               : NewIterator(IteratorOf(reversed, call.runtime), call.runtime);
  }
  MarkedText text;
  for (const JinjaValue& character : items) {
    text.Append(*character.text());
  }
  return JinjaValue(std::move(text).WithMarkup(value.text()->is_markup()));
}

/// The keys by which an attribute such as "a.0.b" is found, one behind another.
std::vector<JinjaValue> PathOf(const JinjaValue& attribute) {
  if (attribute.is_none()) {
    return {};
  }
  if (attribute.text() == nullptr) {
    return {attribute};
  }
  std::vector<JinjaValue> keys;
  std::string_view rest = attribute.text()->text();
  while (true) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    constexpr std::size_t kMostDigits = 9;
    const bool is_index = !part.empty() && part.size() <= kMostDigits &&
                          part.find_first_not_of("0123456789") == std::string_view::npos;
    keys.push_back(is_index ? JinjaValue::OfInteger(std::stoi(std::string(part)))
                            : JinjaValue::OfTemplate(std::string(part)));
    if (part.size() == rest.size()) {
      return keys;
    }
    rest.remove_prefix(part.size() + 1);
  }
}

/// The value behind a path. `if_undefined`, unless it is none, stands for what is not there.
JinjaValue Along(const std::vector<JinjaValue>& path, JinjaValue value,
                 const JinjaValue& if_undefined, JinjaRuntime& runtime) {
  for (const JinjaValue& key : path) {
    runtime.Step();
    value = ItemOf(value, key, runtime);
    if (value.is_undefined() && !if_undefined.is_none()) {
      value = if_undefined;
    }
  }
  return value;
}

JinjaValue Join(const JinjaCall& call) {
  const JinjaValue::List list = ItemsOf(call.At(0), call.runtime);
  const MarkedText between = call.At(1).ToText();
  const std::vector<JinjaValue> path = call.Has(2) ? PathOf(call.At(2)) : std::vector<JinjaValue>();
  MarkedText joined;
  for (std::size_t i = 0; i < list->values.size(); ++i) {
    const MarkedText text =
        Along(path, list->values[i], JinjaValue::OfNone(), call.runtime).ToText();
    call.runtime.UseBytes(between.size() + text.size());
    if (i > 0) {
      joined.Append(between);
    }
    joined.Append(text);
  }
  return JinjaValue(std::move(joined));
}

/// A filter or a test by its name, with the arguments that it gets behind a value.
class NamedFunction {
 public:
  NamedFunction(const JinjaFunction& function, std::vector<JinjaValue> arguments,
                JinjaKeywords keywords)
      : function_(function), arguments_(std::move(arguments)), keywords_(std::move(keywords)) {}

  JinjaValue Of(const JinjaValue& value, JinjaRuntime& runtime) const {
    std::vector<JinjaValue> arguments = {value};
    arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
    return Apply(function_, std::move(arguments), keywords_, runtime);
  }

 private:
  const JinjaFunction& function_;
  std::vector<JinjaValue> arguments_;
  JinjaKeywords keywords_;
};

JinjaValue MapAttribute(const JinjaCall& call) {
  std::vector<JinjaValue> path;
  JinjaValue if_undefined = JinjaValue::OfNone();
  for (const auto& [name, value] : call.others) {
    if (name == "attribute") {
      path = PathOf(value);
    } else if (name == "default") {
      if_undefined = value;
    } else {
      throw JinjaFault("the argument " + proto::Quoted(name) +
                       " of the filter \"map\" is not supported");
    }
  }
  JinjaRuntime& runtime = call.runtime;
  return NewIterator(
      {[items = IteratorOf(call.At(0), runtime), path = std::move(path),
        if_undefined = std::move(if_undefined), &runtime]() mutable -> std::optional<JinjaValue> {
        std::optional<JinjaValue> item = NextOf(items, runtime);
        return item ? std::optional(Along(path, *item, if_undefined, runtime)) : std::nullopt;
      }},
      runtime);
}

/// An iterator without items, which is what Jinja makes of a value that counts as false.
JinjaValue NoItems(JinjaRuntime& runtime) {
  return NewIterator(IteratorOf(JinjaValue(), runtime), runtime);
}

JinjaValue Map(const JinjaCall& call) {
  const bool names_attribute = std::ranges::any_of(
      call.others, [](const auto& argument) { return argument.first == "attribute"; });
  if (!call.At(0).IsTrue()) {
    return NoItems(call.runtime);
  }
  if (!call.Has(1) && names_attribute) {
    return MapAttribute(call);
  }
  const JinjaFunction* filter = FindJinjaFilter(call.Text(1).text());
  if (filter == nullptr) {
    throw JinjaFault("the filter " + proto::Quoted(call.Text(1).text()) + " is not supported");
  }
  JinjaRuntime& runtime = call.runtime;
  return NewIterator({[items = IteratorOf(call.At(0), runtime),
                       function = NamedFunction(*filter, call.From(2), call.others),
                       &runtime]() mutable -> std::optional<JinjaValue> {
                       std::optional<JinjaValue> item = NextOf(items, runtime);
                       return item ? std::optional(function.Of(*item, runtime)) : std::nullopt;
                     }},
                     runtime);
}

/// The items of which, or of whose attribute, a test is `wanted`.
JinjaValue Selected(const JinjaCall& call, bool has_attribute, bool wanted) {
  JinjaRuntime& runtime = call.runtime;
  if (!call.At(0).IsTrue()) {
    return NoItems(runtime);
  }
  const std::size_t of_test = has_attribute ? 2 : 1;
  std::optional<NamedFunction> test;
  if (call.Has(of_test)) {
    const JinjaFunction* function = FindJinjaTest(call.Text(of_test).text());
    if (function == nullptr) {
      throw JinjaFault("the test " + proto::Quoted(call.Text(of_test).text()) +
                       " is not supported");
    }
    test.emplace(*function, call.From(of_test + 1), call.others);
  }
  return NewIterator({[items = IteratorOf(call.At(0), runtime), test = std::move(test),
                       path = has_attribute ? PathOf(call.At(1)) : std::vector<JinjaValue>(),
                       wanted, &runtime]() mutable -> std::optional<JinjaValue> {
                       while (std::optional<JinjaValue> item = NextOf(items, runtime)) {
                         const JinjaValue value = Along(path, *item, JinjaValue::OfNone(), runtime);
                         if ((test ? test->Of(value, runtime) : value).IsTrue() == wanted) {
                           return item;
                         }
                       }
                       return std::nullopt;
                     }},
                     runtime);
}

JinjaValue Select(const JinjaCall& call) { return Selected(call, false, true); }
JinjaValue Reject(const JinjaCall& call) { return Selected(call, false, false); }
JinjaValue SelectAttr(const JinjaCall& call) { return Selected(call, true, true); }
JinjaValue RejectAttr(const JinjaCall& call) { return Selected(call, true, false); }

JinjaValue ToJson(const JinjaCall& call) {
  constexpr std::int64_t kMaxIndent = 16;
  PythonJsonOptions options;
  options.ascii = call.At(1).IsTrue();
  options.sort_keys = call.At(4).IsTrue();
  if (call.Has(2) && !call.At(2).is_none()) {
    const std::int64_t indent = std::max<std::int64_t>(call.Integer(2, 0), 0);
    if (indent > kMaxIndent) {
      throw JinjaFault("an indentation of more than 16 is not supported");
    }
    options.indent = static_cast<int>(indent);
    options.between_items = MarkedText(",");
  }
  if (call.Has(3) && !call.At(3).is_none()) {
    const JinjaValue::List separators = ItemsOf(call.At(3), call.runtime);
    const auto is_text = [](const JinjaValue& separator) { return separator.text() != nullptr; };
    if (separators->values.size() != 2 || !std::ranges::all_of(separators->values, is_text)) {
      throw JinjaFault("the separators of the filter \"tojson\" must be two strings");
    }
    options.between_items = *separators->values[0].text();
    options.behind_key = *separators->values[1].text();
  }
  constexpr std::size_t kBytesOfWeight = 64;  // See JinjaSize.
  call.runtime.UseBytes(
      (kBytesOfWeight + options.between_items.size() + options.behind_key.size()) *
      static_cast<std::size_t>(call.At(0).size().weight));
  return JinjaValue(PythonJson(call.At(0), options));
}

JinjaValue IntegerFilter(const JinjaCall& call) {
  const JinjaValue& value = call.At(0);
  if (value.integer()) {
    return JinjaValue::OfInteger(*value.integer());
  }
  constexpr double kMost = 9e15;
  if (value.number() && *value.number() > -kMost && *value.number() < kMost) {
    return JinjaValue::OfInteger(static_cast<std::int64_t>(*value.number()));
  }
  if (value.is_integer()) {
    return value;
  }
  throw JinjaFault("the filter int takes numbers only, not " + value.TypeName());
}

}  // namespace

const JinjaFunction* FindJinjaFilter(std::string_view name) {
  static const std::array filters = {
      JinjaFunction{"trim", {"value", "chars"}, 1, AsMethod<kStrip>},
      JinjaFunction{"upper", {"value"}, 1, AsMethod<kUpper>},
      JinjaFunction{"lower", {"value"}, 1, AsMethod<kLower>},
      JinjaFunction{"title", {"value"}, 1, Title},
      JinjaFunction{"capitalize", {"value"}, 1, AsMethod<kCapitalize>},
      JinjaFunction{"replace", {"value", "old", "new", "count"}, 3, ReplaceFilter},
      JinjaFunction{"string", {"value"}, 1, TextFilter},
      JinjaFunction{"safe", {"value"}, 1, Safe},
      JinjaFunction{"length", {"value"}, 1, Length},
      JinjaFunction{"count", {"value"}, 1, Length},
      JinjaFunction{"default", {"value", "default_value", "boolean"}, 1, Default},
      JinjaFunction{"d", {"value", "default_value", "boolean"}, 1, Default},
      JinjaFunction{"items", {"value"}, 1, Members},
      JinjaFunction{"dictsort", {"value"}, 1, SortedMembers},
      JinjaFunction{"list", {"value"}, 1, ListFilter},
      JinjaFunction{"first", {"value"}, 1, First},
      JinjaFunction{"last", {"value"}, 1, Last},
      JinjaFunction{"reverse", {"value"}, 1, Reversed},
      JinjaFunction{"join", {"value", "d", "attribute"}, 1, Join},
      JinjaFunction{"map", {"value"}, 1, Map, false, true, true},
      JinjaFunction{"select", {"value"}, 1, Select, false, true, true},
      JinjaFunction{"reject", {"value"}, 1, Reject, false, true, true},
      JinjaFunction{"selectattr", {"value", "attribute"}, 2, SelectAttr, false, true, true},
      JinjaFunction{"rejectattr", {"value", "attribute"}, 2, RejectAttr, false, true, true},
      JinjaFunction{
          "tojson", {"value", "ensure_ascii", "indent", "separators", "sort_keys"}, 1, ToJson},
      JinjaFunction{"int", {"value"}, 1, IntegerFilter},
  };
  return FindIn(filters, name);
}

}  // namespace scorecast::coordinator
