#include "coordinator/rerank/chat_template_match.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

namespace scorecast::coordinator {
namespace {

/// Adds the parts of `text` between line ends.
void AddLines(std::string_view text, std::vector<std::string>& lines) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) {
      lines.emplace_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The string in quotation marks that `text` begins with; removes it from `text`.
std::string TakeString(std::string_view& text) {
  const char quote = text.front();
  std::string value;
  std::size_t at = 1;
  for (; at < text.size() && text[at] != quote; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      ++at;
      value += text[at] == 'n' ? '\n' : text[at];
    } else {
      value += text[at];
    }
  }
  text.remove_prefix(std::min(at + 1, text.size()));
  return value;
}

/// The lines of a Jinja template's literal text: what stands outside of its tags, and the strings
/// in them.
std::vector<std::string> LiteralLines(std::string_view jinja) {
  std::vector<std::string> lines;
  while (!jinja.empty()) {
    const std::size_t open = std::min({jinja.find("{{"), jinja.find("{%"), jinja.find("{#")});
    AddLines(jinja.substr(0, open), lines);
    if (open == std::string_view::npos) {
      break;
    }
    const char kind = jinja[open + 1];
    const std::string_view close = kind == '{' ? "}}" : kind == '%' ? "%}" : "#}";
    jinja.remove_prefix(open + 2);
    while (!jinja.empty() && !jinja.starts_with(close)) {
      if (kind != '#' && (jinja.front() == '"' || jinja.front() == '\'')) {
        AddLines(TakeString(jinja), lines);
      } else {
        jinja.remove_prefix(1);
      }
    }
    jinja.remove_prefix(std::min<std::size_t>(2, jinja.size()));
  }
  return lines;
}

/// A name, as of a role or an attribute; or nothing but white space.
bool IsWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '_' || c == ' ' || c == '\t';
                     }) &&
         (text.find_first_not_of(" \t") == std::string_view::npos ||
          text.find(' ') == std::string_view::npos);
}

/// The text of a template between placeholders, control tokens and line ends.
std::vector<std::string> Fragments(const RerankTemplate& ours) {
  std::vector<std::string> fragments;
  for (const TemplateText& piece : ours.pieces) {
    for (const TemplatePart& part : piece) {
      std::string text = part.condition.empty() ? part.text : "";
      for (const std::string& token : ours.control_tokens) {
        for (std::size_t at = 0; (at = text.find(token, at)) != std::string::npos;) {
          text.replace(at, token.size(), "\n" + token + "\n");
          at += token.size() + 2;
        }
      }
      AddLines(text, fragments);
    }
  }
  std::erase_if(fragments, IsWord);
  return fragments;
}

/// All text that a rendering of the template may have, without line ends.
std::string TextOf(const RerankTemplate& ours) {
  std::string text;
  for (const TemplateText& piece : ours.pieces) {
    for (const TemplatePart& part : piece) {
      text += part.is_text() ? part.text : std::string(1, '\0');
    }
  }
  std::erase(text, '\n');
  return text + '\0' + ours.default_instruction;
}

}  // namespace

bool IsRerankChatTemplate(std::string_view jinja) {
  const std::vector<std::string> lines = LiteralLines(jinja);
  const auto has = [&](std::string_view word) {
    return std::find(lines.begin(), lines.end(), word) != lines.end();
  };
  return has("query") && has("document");
}

bool HasTextOf(std::string_view jinja, const RerankTemplate& ours) {
  const std::vector<std::string> lines = LiteralLines(jinja);
  std::string all;
  for (const std::string& line : lines) {
    all += line;
  }
  const std::vector<std::string> fragments = Fragments(ours);
  const bool has_prose =
      std::any_of(fragments.begin(), fragments.end(), [&](const std::string& fragment) {
        return std::find(ours.control_tokens.begin(), ours.control_tokens.end(), fragment) ==
               ours.control_tokens.end();
      });
  const std::string text = TextOf(ours);
  return (has_prose || IsRerankChatTemplate(jinja)) &&
         std::all_of(fragments.begin(), fragments.end(),
                     [&](const std::string& one) { return all.find(one) != std::string::npos; }) &&
         std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
           return IsWord(line) || text.find(line) != std::string::npos;
         });
}

}  // namespace scorecast::coordinator
