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
  JsonTextWriter(int indent, bool ascii, bool sort_keys)
      : indent_(indent), ascii_(ascii), sort_keys_(sort_keys) {}

  void Write(const JinjaValue& value) {
    if (const MarkedText* text = value.text()) {
      WriteText(*text);
    } else if (const auto* items = value.items()) {
      WriteItems(*items);
    } else if (const auto* members = value.members()) {
      WriteMembers(*members);
    } else if (value.is_none()) {
      Own("null");
    } else if (const bool* truth = value.As<bool>()) {
      Own(*truth ? "true" : "false");
    } else if (value.number()) {
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
    if (character < 0x20 || (ascii_ && character > 0x7E && character < 0x10000)) {
      return Unit(character);
    }
    constexpr char32_t kFirstOfPairs = 0x10000;
    return ascii_ && character >= kFirstOfPairs
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

  void WriteMembers(std::vector<std::pair<std::string, JinjaValue>> members) {
    if (sort_keys_) {
      std::ranges::sort(members, {}, &std::pair<std::string, JinjaValue>::first);
    }
    Own("{");
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      Separate(i);
      WriteText(MarkedText(members[i].first, Origin::kRequest));
      Own(": ");
      Write(members[i].second);
    }
    --depth_;
    EndLine(members.empty());
    Own("}");
  }

  void Separate(std::size_t i) {
    if (i > 0) {
      Own(indent_ < 0 ? ", " : ",");
    }
    EndLine(false);
  }

  void EndLine(bool is_empty) {
    if (indent_ >= 0 && !is_empty) {
      Own("\n" + std::string(static_cast<std::size_t>(indent_ * depth_), ' '));
    }
  }

  const int indent_;
  const bool ascii_;
  const bool sort_keys_;
  int depth_ = 0;
  MarkedText json_;
};

}  // namespace

MarkedText PythonJson(const JinjaValue& value, int indent, bool ascii, bool sort_keys) {
  JsonTextWriter writer(indent, ascii, sort_keys);
  writer.Write(value);
  return writer.Take();
}

}  // namespace scorecast::coordinator
