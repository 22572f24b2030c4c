#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/unicode/regex.h"

namespace scorecast::coordinator {

/// A part of a text, in bytes: a match, or the text between two matches.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_match = false;
};

/// Calls `span` for the spans of a text, in order: all matches of an expression and the text
/// between them. As in the reference, an empty match directly after another match does not count.
void ForEachSpan(std::string_view text, const Regex& regex,
                 const std::function<void(const Span&)>& span);

/// Returns the same spans as a list.
std::vector<Span> FindSpans(std::string_view text, const Regex& regex);

/// The spans of a text whose matches are the characters with a property.
std::vector<Span> FindSpans(std::string_view text, bool (*has_property)(char32_t));

/// The spans of a text whose matches are the occurrences of `literal`, which is not empty.
std::vector<Span> FindSpans(std::string_view text, std::string_view literal);

/// What a splitting step does with its matches. The names are those of the reference.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Joins spans according to `behavior`, as NormalizedString::split of the reference does, edge
/// cases included. The result may have empty spans.
std::vector<Span> JoinSpans(std::vector<Span> spans, SplitBehavior behavior);

}  // namespace scorecast::coordinator
