#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// A part of a template's text: literal text, or a place that a request's text takes.
struct TemplatePart {
  std::string place;      ///< Such as "document". Empty for literal text.
  std::string text;       ///< Of literal text.
  std::string condition;  ///< The place whose text must not be empty. Empty if there is none.

  bool is_text() const { return place.empty(); }
};
using TemplateText = std::vector<TemplatePart>;

/// What a text may have in braces.
struct TemplatePlaces {
  std::vector<std::string_view> names;       ///< {name}
  std::vector<std::string_view> conditions;  ///< {if name}…{end}
};

/// Reads a text with {places} and {if conditions}…{end}; a brace itself is written twice.
/// Conditions do not nest. `fail` is called with what is wrong, and must throw.
TemplateText ParseTemplateText(std::string_view text, const TemplatePlaces& places,
                               const std::function<void(const std::string&)>& fail);

/// How often a place stands in a text.
std::size_t CountPlaces(const TemplateText& text, std::string_view place);

}  // namespace scorecast::coordinator
