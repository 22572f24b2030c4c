#include "coordinator/templates/template_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

bool IsOneOf(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// "{query}, {if instruction} and {end}"
std::string AllOf(const TemplatePlaces& places) {
  std::vector<std::string> all;
  for (const std::string_view name : places.names) {
    all.push_back("{" + std::string(name) + "}");
  }
  for (const std::string_view condition : places.conditions) {
    all.push_back("{if " + std::string(condition) + "}");
  }
  if (!places.conditions.empty()) {
    all.emplace_back("{end}");
  }
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i];
  }
  return text.empty() ? "none" : text;
}

}  // namespace

TemplateText ParseTemplateText(std::string_view text, const TemplatePlaces& places,
                               const std::function<void(const std::string&)>& fail) {
  TemplateText parts;
  std::string literal;
  std::string condition;
  const auto add_literal = [&] {
    if (!literal.empty()) {
      parts.push_back({.text = std::exchange(literal, {}), .condition = condition});
    }
  };
  while (!text.empty()) {
    if (text.starts_with("{{") || text.starts_with("}}")) {
      literal += text.front();
      text.remove_prefix(2);
      continue;
    }
    if (text.front() == '}') {
      fail("a \"}\" without \"{\"; a brace itself is written twice");
    }
    if (text.front() != '{') {
      literal += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = text.find('}');
    const std::string_view name = text.substr(1, end == text.npos ? end : end - 1);
    add_literal();
    const bool is_closed = end != std::string_view::npos;
    if (is_closed && IsOneOf(places.names, name)) {
      if (!condition.empty() && condition != name) {
        fail("{" + std::string(name) + "} must not stand between {if " + condition + "} and {end}");
      }
      parts.push_back({.place = std::string(name), .condition = condition});
    } else if (is_closed && name.starts_with("if ") && IsOneOf(places.conditions, name.substr(3)) &&
               condition.empty()) {
      condition = name.substr(3);
    } else if (is_closed && name == "end" && !condition.empty()) {
      condition.clear();
    } else {
      fail("unknown placeholder {" + proto::OneLine(name, 64) + "}; there are " + AllOf(places) +
           "; a brace itself is written twice");
    }
    text.remove_prefix(is_closed ? end + 1 : text.size());
  }
  add_literal();
  if (!condition.empty()) {
    fail("{if " + condition + "} without {end}");
  }
  return parts;
}

std::size_t CountPlaces(const TemplateText& text, std::string_view place) {
  return static_cast<std::size_t>(std::ranges::count(text, place, &TemplatePart::place));
}

}  // namespace scorecast::coordinator
