#include <algorithm>
#include <array>
#include <cstdio>

#include "coordinator/chat/jinja_fault.h"
#include "coordinator/chat/jinja_functions.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

class JsonTextWriter {
 public:
  explicit JsonTextWriter(const PythonJsonOptions& options) : options_(options) {}

  void Write(const JinjaValue& value) {
    if (const MarkedText* text = value.text()) {
      WriteText(*text);
    } else if (value.is_list(JinjaItemsKind::kList) || value.is_list(JinjaItemsKind::kTuple)) {
      WriteItems(*value.items());
    } else if (const auto* members = value.members()) {
      WriteMembers(*members);
    } else if (value.is_none()) {
      Own("null");
    } else if (const bool* truth = value.As<bool>()) {
      Own(*truth ? "true" : "false");
    } else if (value.number() || value.is_integer()) {
      const std::string number = value.ToText().text();
      Own(number == "nan"    ? "NaN"
          : number == "inf"  ? "Infinity"
          : number == "-inf" ? "-Infinity"
                             : number);
    } else {
      throw JinjaFault(value.TypeName() + " has no JSON");
    }
  }

  MarkedText Take() { return std::move(json_); }

 private:
  using Origin = MarkedText::Origin;

  void Own(std::string_view text) { json_.Append(text, Origin::kTemplate); }

  void WriteText(const MarkedText& text) {
    Own("\"");
    for (std::size_t at = 0; at < text.size();) {
      const Origin origin = text.OriginOf(at);
      const std::string_view rest = std::string_view(text.text()).substr(at);
      const CodePoint first = FirstCodePoint(rest);
      const std::string escaped = Escaped(first.value);
      json_.Append(escaped.empty() ? rest.substr(0, first.length) : escaped, origin);
      at += first.length;
    }
    Own("\"");
  }

  /// The escape sequence of a character; empty if it has none.
  std::string Escaped(char32_t character) const {
    static constexpr std::array<std::pair<char32_t, const char*>, 7> kShort = {{{'"', "\\\""},
                                                                                {'\\', "\\\\"},
                                                                                {'\n', "\\n"},
                                                                                {'\r', "\\r"},
                                                                                {'\t', "\\t"},
                                                                                {'\b', "\\b"},
                                                                                {'\f', "\\f"}}};
    for (const auto& [own, text] : kShort) {
      if (own == character) {
        return text;
      }
    }
    if (character < 0x20 || (options_.ascii && character > 0x7E && character < 0x10000)) {
      return Unit(character);
    }
    constexpr char32_t kFirstOfPairs = 0x10000;
    return options_.ascii && character >= kFirstOfPairs
               ? Unit(0xD800 + ((character - kFirstOfPairs) >> 10)) +
                     Unit(0xDC00 + ((character - kFirstOfPairs) & 0x3FF))
               : "";
  }

  static std::string Unit(char32_t unit) {
    std::array<char, 8> text;
    std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(unit & 0xFFFF));
    return text.data();
  }

  void WriteItems(const std::vector<JinjaValue>& items) {
    Own("[");
    ++depth_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Separate(i);
      Write(items[i]);
    }
    --depth_;
    EndLine(items.empty());
    Own("]");
  }

  void WriteMembers(std::vector<JinjaMember> members) {
    if (options_.sort_keys) {
      std::ranges::sort(members, {}, &JinjaMember::name);
    }
    Own("{");
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      Separate(i);
      WriteText(*members[i].key);
      json_.Append(options_.behind_key);
      Write(members[i].value);
    }
    --depth_;
    EndLine(members.empty());
    Own("}");
  }

  void Separate(std::size_t i) {
    if (i > 0) {
      json_.Append(options_.between_items);
    }
    EndLine(false);
  }

  void EndLine(bool is_empty) {
    if (options_.indent >= 0 && !is_empty) {
      Own("\n" + std::string(static_cast<std::size_t>(options_.indent * depth_), ' '));
    }
  }

  const PythonJsonOptions& options_;
  int depth_ = 0;
  MarkedText json_;
};

}  // namespace

MarkedText PythonJson(const JinjaValue& value, const PythonJsonOptions& options) {
  JsonTextWriter writer(options);
  writer.Write(value);
  return writer.Take();
}

}  // namespace scorecast::coordinator
