#include <algorithm>
#include <array>
#include <iterator>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_functions.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/letter_case.h"

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
constexpr char kTitle[] = "title";
constexpr char kCapitalize[] = "capitalize";
constexpr char kReplace[] = "replace";

JinjaValue TextFilter(const JinjaCall& call) { return JinjaValue(call.At(0).ToText()); }

JinjaValue Length(const JinjaCall& call) {
  const JinjaValue& value = call.At(0);
  std::size_t length = 0;
  if (value.text() != nullptr) {
    call.runtime.UseBytes(value.text()->size());
    length = static_cast<std::size_t>(std::ranges::count_if(value.text()->text(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
  } else if (value.items() != nullptr) {
    length = value.items()->size();
  } else if (value.members() != nullptr) {
    length = value.members()->size();
  } else if (!value.is_undefined()) {
    throw JinjaFault(value.TypeName() + " has no length");
  }
  return JinjaValue::OfInteger(static_cast<std::int64_t>(length));
}

JinjaValue Default(const JinjaCall& call) {
  const JinjaValue& value = call.At(0);
  const bool is_absent = value.is_undefined() || (call.At(2).IsTrue() && !value.IsTrue());
  if (!is_absent) {
    return value;
  }
  return call.Has(1) ? call.At(1) : JinjaValue::OfTemplate("");
}

JinjaValue Members(const JinjaCall& call) {
  if (call.At(0).is_undefined()) {
    return JinjaValue::OfItems({});
  }
  static const JinjaFunction& items = *FindJinjaMethod("items");
  return items.apply(call);
}

/// Members in the order of their keys, whose case does not count.
JinjaValue SortedMembers(const JinjaCall& call) {
  const auto lower_key = [&](const JinjaValue& member) {
    return proto::ToLower(member.items()->front().text()->text());
  };
  std::vector<JinjaValue> members = *Members(call).items();
  std::ranges::stable_sort(members, {}, lower_key);
  return JinjaValue::OfItems(std::move(members));
}

JinjaValue ListFilter(const JinjaCall& call) {
  return JinjaValue(JinjaValue::Variant(ItemsOf(call.At(0), call.runtime)));
}

JinjaValue First(const JinjaCall& call) {
  const JinjaValue::List list = ItemsOf(call.At(0), call.runtime);
  return list->values.empty() ? JinjaValue() : list->values.front();
}

JinjaValue Last(const JinjaCall& call) {
  const JinjaValue::List list = ItemsOf(call.At(0), call.runtime);
  return list->values.empty() ? JinjaValue() : list->values.back();
}

JinjaValue Reversed(const JinjaCall& call) {
  const JinjaValue::List list = ItemsOf(call.At(0), call.runtime);
  call.runtime.UseItems(list->values.size());
  std::vector<JinjaValue> items(list->values.rbegin(), list->values.rend());
  if (call.At(0).text() == nullptr) {
    return JinjaValue::OfItems(std::move(items));
  }
  MarkedText text;
  for (const JinjaValue& character : items) {
    text.Append(*character.text());
  }
  return JinjaValue(std::move(text));
}

/// The value of an attribute "a.b" of an item.
JinjaValue AttributeOf(const JinjaValue& item, std::string_view path) {
  const std::size_t dot = path.find('.');
  const JinjaValue* member = item.Find(path.substr(0, dot));
  if (member == nullptr) {
    return JinjaValue();
  }
  return dot == std::string_view::npos ? *member : AttributeOf(*member, path.substr(dot + 1));
}

JinjaValue Join(const JinjaCall& call) {
  const JinjaValue::List list = ItemsOf(call.At(0), call.runtime);
  const MarkedText between = call.At(1).ToText();
  MarkedText joined;
  for (std::size_t i = 0; i < list->values.size(); ++i) {
    const JinjaValue& item = list->values[i];
    const MarkedText text = (call.Has(2) ? AttributeOf(item, call.Text(2).text()) : item).ToText();
    call.runtime.UseBytes(between.size() + text.size());
    if (i > 0) {
      joined.Append(between);
    }
    joined.Append(text);
  }
  return JinjaValue(std::move(joined));
}

/// A filter or a test with the arguments from `first` on.
JinjaValue ApplyTo(const JinjaValue& item, const JinjaFunction& function, const JinjaCall& call,
                   std::size_t first) {
  JinjaCall own{{item}, {}, call.runtime};
  for (std::size_t i = first; i < call.arguments.size(); ++i) {
    own.arguments.push_back(call.arguments[i]);
  }
  if (own.arguments.size() < function.required ||
      own.arguments.size() > function.parameters.size()) {
    throw JinjaFault("wrong number of arguments of " + std::string(function.name));
  }
  return function.apply(own);
}

JinjaValue Map(const JinjaCall& call) {
  const JinjaFunction* filter = nullptr;
  if (!call.Has(3)) {
    filter = FindJinjaFilter(call.Text(1).text());
    if (filter == nullptr) {
      throw JinjaFault("the filter " + call.Text(1).text() + " is not supported");
    }
  }
  const JinjaValue::List list = ItemsOf(call.At(0), call.runtime);
  call.runtime.UseItems(list->values.size());
  std::vector<JinjaValue> mapped;
  for (const JinjaValue& item : list->values) {
    JinjaValue value = filter != nullptr ? ApplyTo(item, *filter, call, 2)
                                         : AttributeOf(item, call.Text(3).text());
    mapped.push_back(value.is_undefined() && call.Has(4) ? call.At(4) : std::move(value));
  }
  return JinjaValue::OfItems(std::move(mapped));
}

/// The items of which, or of whose attribute, a test is `wanted`.
JinjaValue Selected(const JinjaCall& call, bool has_attribute, bool wanted) {
  const std::size_t of_test = has_attribute ? 2 : 1;
  const JinjaFunction* test = nullptr;
  if (call.Has(of_test)) {
    test = FindJinjaTest(call.Text(of_test).text());
    if (test == nullptr) {
      throw JinjaFault("the test " + call.Text(of_test).text() + " is not supported");
    }
  }
  const JinjaValue::List list = ItemsOf(call.At(0), call.runtime);
  call.runtime.UseItems(list->values.size());
  std::vector<JinjaValue> selected;
  for (const JinjaValue& item : list->values) {
    const JinjaValue value = has_attribute ? AttributeOf(item, call.Text(1).text()) : item;
    const JinjaValue result = test != nullptr ? ApplyTo(value, *test, call, of_test + 1) : value;
    if (result.IsTrue() == wanted) {
      selected.push_back(item);
    }
  }
  return JinjaValue::OfItems(std::move(selected));
}

JinjaValue Select(const JinjaCall& call) { return Selected(call, false, true); }
JinjaValue Reject(const JinjaCall& call) { return Selected(call, false, false); }
JinjaValue SelectAttr(const JinjaCall& call) { return Selected(call, true, true); }
JinjaValue RejectAttr(const JinjaCall& call) { return Selected(call, true, false); }

JinjaValue ToJson(const JinjaCall& call) {
  constexpr std::int64_t kMaxIndent = 16;
  const bool is_indented = call.Has(1) && !call.At(1).is_none();
  const std::int64_t indent = is_indented ? call.Integer(1, 0) : -1;
  if (indent > kMaxIndent) {
    throw JinjaFault("an indentation of more than 16 is not supported");
  }
  constexpr std::size_t kBytesOfWeight = 64;  // See JinjaSize.
  call.runtime.UseBytes(kBytesOfWeight * static_cast<std::size_t>(call.At(0).size().weight));
  MarkedText json =
      PythonJson(call.At(0), static_cast<int>(indent), call.At(2).IsTrue(), call.At(3).IsTrue());
  return JinjaValue(std::move(json));
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
  throw JinjaFault("the filter int takes numbers only, not " + value.TypeName());
}

}  // namespace

const JinjaFunction* FindJinjaFilter(std::string_view name) {
  static const std::array filters = {
      JinjaFunction{"trim", {"value", "chars"}, 1, AsMethod<kStrip>},
      JinjaFunction{"upper", {"value"}, 1, AsMethod<kUpper>},
      JinjaFunction{"lower", {"value"}, 1, AsMethod<kLower>},
      JinjaFunction{"title", {"value"}, 1, AsMethod<kTitle>},
      JinjaFunction{"capitalize", {"value"}, 1, AsMethod<kCapitalize>},
      JinjaFunction{"replace", {"value", "old", "new", "count"}, 3, AsMethod<kReplace>},
      JinjaFunction{"string", {"value"}, 1, TextFilter},
      JinjaFunction{"safe", {"value"}, 1, TextFilter},
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
      JinjaFunction{"map", {"value", "filter", "argument", "attribute", "default"}, 1, Map},
      JinjaFunction{"select", {"value", "test", "argument"}, 1, Select},
      JinjaFunction{"reject", {"value", "test", "argument"}, 1, Reject},
      JinjaFunction{"selectattr", {"value", "attribute", "test", "argument"}, 2, SelectAttr},
      JinjaFunction{"rejectattr", {"value", "attribute", "test", "argument"}, 2, RejectAttr},
      // `separators` is no parameter, so it is refused.
      JinjaFunction{"tojson", {"value", "indent", "ensure_ascii", "sort_keys"}, 1, ToJson},
      JinjaFunction{"int", {"value"}, 1, IntegerFilter},
  };
  return FindIn(filters, name);
}

}  // namespace scorecast::coordinator
