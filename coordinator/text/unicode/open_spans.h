#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "coordinator/text/unicode/regex.h"
#include "coordinator/text/unicode/spans.h"

namespace scorecast::coordinator {

/// The spans of a text whose end is open, as far as they do not depend on what follows.
struct OpenSpans {
  /// Matches and the text between them, up to the last match.
  std::vector<Span> spans;
  /// No further match begins before this byte, and none ends before it.
  std::size_t searched = 0;

  std::size_t end() const { return spans.empty() ? 0 : spans.back().end; }
};

/// Finds the certain spans. Nothing is certain if the expression looks behind, and nothing from an
/// empty match on.
OpenSpans FindOpenSpans(std::string_view text, const Regex& regex);

/// The same for an expression that matches single characters with a property.
OpenSpans FindOpenSpans(std::string_view text, bool (*has_property)(char32_t));

/// The places at which JoinSpans certainly cuts, in ascending order, without the place 0. If
/// `invert`, the text between two matches counts as a match, and a match as text between matches.
std::vector<std::size_t> CertainBorders(const OpenSpans& spans, SplitBehavior behavior,
                                        bool invert);

}  // namespace scorecast::coordinator
