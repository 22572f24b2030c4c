#include "coordinator/text/pre_tokenizer.h"

#include <string>
#include <utility>

#include "coordinator/text/unicode_classes.h"
#include "coordinator/text/utf8.h"

namespace scorecast::coordinator {
namespace {

constexpr std::string_view kGpt2Expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A part of a text, in bytes: a match, or what lies between two matches.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_match = false;
};

/// Collects spans that cover a whole text, from matches that are reported in order.
class SpanList {
 public:
  explicit SpanList(std::size_t text_size) : text_size_(text_size) {}

  void AddMatch(std::size_t begin, std::size_t end) {
    AddBetween(begin);
    spans_.push_back({begin, end, true});
    end_ = end;
  }

  std::vector<Span> Finish() && {
    AddBetween(text_size_);
    return std::move(spans_);
  }

 private:
  void AddBetween(std::size_t end) {
    if (end_ < end) {
      spans_.push_back({end_, end, false});
    }
  }

  std::size_t text_size_;
  std::size_t end_ = 0;
  std::vector<Span> spans_;
};

std::vector<Span> FindSpans(std::string_view text, const Regex& regex) {
  SpanList spans(text.size());
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::optional<RegexMatch> match = regex.Find(text, from);
    if (!match) {
      break;
    }
    spans.AddMatch(match->begin, match->end);
    from = match->end;
    if (match->begin == match->end) {
      // After an empty match, the search continues behind the next character.
      from += from < text.size() ? FirstCodePoint(text.substr(from)).length : 1;
    }
  }
  return std::move(spans).Finish();
}

std::vector<Span> FindDigits(std::string_view text) {
  SpanList spans(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint character = FirstCodePoint(text.substr(at));
    if (IsNumeric(character.value)) {
      spans.AddMatch(at, at + character.length);
    }
    at += character.length;
  }
  return std::move(spans).Finish();
}

/// Joins spans according to `behavior`, as NormalizedString::split of the reference does, edge
/// cases included.
std::vector<Span> Join(std::vector<Span> spans, SplitBehavior behavior) {
  std::vector<Span> joined;
  joined.reserve(spans.size());
  bool previous = false;
  switch (behavior) {
    case SplitBehavior::kIsolated:
      return spans;
    case SplitBehavior::kRemoved:
      for (const Span& span : spans) {
        if (!span.is_match) {
          joined.push_back(span);
        }
      }
      return joined;
    case SplitBehavior::kContiguous:
      for (const Span& span : spans) {
        if (span.is_match == previous && !joined.empty()) {
          joined.back().end = span.end;
        } else {
          joined.push_back(span);
        }
        previous = span.is_match;
      }
      return joined;
    case SplitBehavior::kMergedWithPrevious:
      for (const Span& span : spans) {
        if (span.is_match && !previous && !joined.empty()) {
          joined.back().end = span.end;
        } else {
          joined.push_back(span);
        }
        previous = span.is_match;
      }
      return joined;
    case SplitBehavior::kMergedWithNext:
      for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
        if (span->is_match && !previous && !joined.empty()) {
          joined.back().begin = span->begin;
        } else {
          joined.push_back(*span);
        }
        previous = span->is_match;
      }
      return {joined.rbegin(), joined.rend()};
  }
  return spans;
}

std::vector<Span> Split(std::string_view text, const SplitStep& step) {
  std::vector<Span> spans = FindSpans(text, step.pattern);
  if (step.invert) {
    for (Span& span : spans) {
      span.is_match = !span.is_match;
    }
  }
  return Join(std::move(spans), step.behavior);
}

std::vector<Span> Split(std::string_view text, const DigitsStep& step) {
  return Join(FindDigits(text),
              step.individual_digits ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

}  // namespace

PreTokenizer::PreTokenizer(std::vector<Step> steps, bool add_prefix_space, bool use_regex)
    : steps_(std::move(steps)), add_prefix_space_(add_prefix_space) {
  if (use_regex) {
    byte_level_regex_.emplace(kGpt2Expression);
  }
}

void PreTokenizer::Cut(std::string_view text, bool at_start,
                       const std::function<void(std::string_view)>& piece) const {
  std::vector<std::string_view> pieces;
  if (!text.empty()) {
    pieces.push_back(text);
  }
  for (const Step& step : steps_) {
    std::vector<std::string_view> smaller;
    for (const std::string_view whole : pieces) {
      const std::vector<Span> spans =
          std::visit([&](const auto& kind) { return Split(whole, kind); }, step);
      for (const Span& span : spans) {
        if (span.begin < span.end) {
          smaller.push_back(whole.substr(span.begin, span.end - span.begin));
        }
      }
    }
    pieces = std::move(smaller);
  }
  std::string spaced;
  bool takes_prefix = at_start;
  for (std::string_view whole : pieces) {
    if (add_prefix_space_ && std::exchange(takes_prefix, true) && !whole.starts_with(' ')) {
      spaced = ' ';
      spaced += whole;
      whole = spaced;
    }
    if (!byte_level_regex_) {
      piece(whole);
      continue;
    }
    for (const Span& span : FindSpans(whole, *byte_level_regex_)) {
      piece(whole.substr(span.begin, span.end - span.begin));
    }
  }
}

}  // namespace scorecast::coordinator
