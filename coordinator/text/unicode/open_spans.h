#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "coordinator/text/unicode/regex.h"
#include "coordinator/text/unicode/spans.h"

namespace scorecast::coordinator {

/// The spans of a text whose end is open, as far as they are the same whatever follows.
struct OpenSpans {
  /// Matches and the text between them, up to the last match.
  std::vector<Span> spans;
  /// No further match begins before this byte, and none ends before it.
  std::size_t searched = 0;

  std::size_t end() const { return spans.empty() ? 0 : spans.back().end; }
};

/// Nothing is certain if the expression looks behind, or from an empty match on.
OpenSpans FindOpenSpans(std::string_view text, const Regex& regex);

/// The same for the characters with a property.
OpenSpans FindOpenSpans(std::string_view text, bool (*has_property)(char32_t));

/// The places at which JoinSpans certainly cuts, in ascending order. The place 0 is none of them.
/// `invert`: what is between two matches counts as a match, and the reverse.
std::vector<std::size_t> CertainBorders(const OpenSpans& spans, SplitBehavior behavior,
                                        bool invert);

}  // namespace scorecast::coordinator
