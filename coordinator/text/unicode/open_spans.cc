#include "coordinator/text/unicode/open_spans.h"

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

void AddMatch(std::size_t begin, std::size_t end, std::vector<Span>& spans) {
  const std::size_t last = spans.empty() ? 0 : spans.back().end;
  if (last < begin) {
    spans.push_back({last, begin, false});
  }
  spans.push_back({begin, end, true});
}

/// Whether JoinSpans keeps two neighbouring spans apart.
bool IsBorder(bool is_match, bool next_is_match, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kIsolated:
    case SplitBehavior::kRemoved:
      return true;
    case SplitBehavior::kContiguous:
      return is_match != next_is_match;
    case SplitBehavior::kMergedWithPrevious:
      return is_match;
    case SplitBehavior::kMergedWithNext:
      return next_is_match;
  }
  return false;
}

}  // namespace

OpenSpans FindOpenSpans(std::string_view text, const Regex& regex) {
  OpenSpans result;
  if (regex.looks_behind()) {
    return result;
  }
  while (true) {
    const OpenMatch found = regex.FindInOpenText(text, result.end());
    result.searched = found.searched;
    if (!found.match || found.match->begin == found.match->end) {
      return result;
    }
    AddMatch(found.match->begin, found.match->end, result.spans);
  }
}

OpenSpans FindOpenSpans(std::string_view text, bool (*has_property)(char32_t)) {
  OpenSpans result;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint character = FirstCodePoint(text.substr(at));
    if (has_property(character.value)) {
      AddMatch(at, at + character.length, result.spans);
    }
    at += character.length;
  }
  result.searched = text.size();
  return result;
}

std::vector<std::size_t> CertainBorders(const OpenSpans& spans, SplitBehavior behavior,
                                        bool invert) {
  std::vector<std::size_t> borders;
  for (std::size_t i = 0; i < spans.spans.size(); ++i) {
    const Span& span = spans.spans[i];
    const bool is_last = i + 1 == spans.spans.size();
    // What follows the last match may be a match or not. If the search went on behind that match,
    // only the latter is possible.
    const bool next_may_match = is_last ? spans.searched == span.end : spans.spans[i + 1].is_match;
    const bool next_may_differ = is_last || !spans.spans[i + 1].is_match;
    const bool counts = span.is_match != invert;
    if ((!next_may_match || IsBorder(counts, !invert, behavior)) &&
        (!next_may_differ || IsBorder(counts, invert, behavior))) {
      borders.push_back(span.end);
    }
  }
  return borders;
}

}  // namespace scorecast::coordinator
