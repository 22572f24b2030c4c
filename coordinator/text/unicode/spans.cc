#include "coordinator/text/unicode/spans.h"

#include <optional>

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

/// Reports spans that cover a whole text, from matches that are reported in order.
template <typename Report>
class Spans {
 public:
  Spans(std::size_t text_size, Report report) : text_size_(text_size), report_(std::move(report)) {}

  void AddMatch(std::size_t begin, std::size_t end) {
    AddBetween(begin);
    report_(Span{begin, end, true});
    end_ = end;
  }

  void Finish() { AddBetween(text_size_); }

 private:
  void AddBetween(std::size_t end) {
    if (end_ < end) {
      report_(Span{end_, end, false});
    }
  }

  std::size_t text_size_;
  std::size_t end_ = 0;
  Report report_;
};

/// Makes a report that appends to a list.
auto Into(std::vector<Span>& list) {
  return [&list](const Span& span) { list.push_back(span); };
}

}  // namespace

void ForEachSpan(std::string_view text, const Regex& regex,
                 const std::function<void(const Span&)>& span) {
  Spans spans(text.size(), std::cref(span));
  std::optional<std::size_t> last_end;
  std::size_t from = 0;
  // As in the reference, an empty text has no match, not even an empty one.
  while (from <= text.size() && !text.empty()) {
    const std::optional<RegexMatch> match = regex.Find(text, from);
    if (!match) {
      break;
    }
    const bool is_empty = match->begin == match->end;
    from = match->end;
    if (!is_empty || last_end != match->end) {
      spans.AddMatch(match->begin, match->end);
      last_end = match->end;
    }
    if (is_empty) {
      // The search continues behind the next character.
      from += from < text.size() ? FirstCodePoint(text.substr(from)).length : 1;
    }
  }
  spans.Finish();
}

std::vector<Span> FindSpans(std::string_view text, const Regex& regex) {
  std::vector<Span> list;
  ForEachSpan(text, regex, Into(list));
  return list;
}

std::vector<Span> FindSpans(std::string_view text, bool (*has_property)(char32_t)) {
  std::vector<Span> list;
  Spans spans(text.size(), Into(list));
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint character = FirstCodePoint(text.substr(at));
    if (has_property(character.value)) {
      spans.AddMatch(at, at + character.length);
    }
    at += character.length;
  }
  spans.Finish();
  return list;
}

std::vector<Span> FindSpans(std::string_view text, std::string_view literal) {
  std::vector<Span> list;
  Spans spans(text.size(), Into(list));
  for (std::size_t at = text.find(literal); at != std::string_view::npos;
       at = text.find(literal, at + literal.size())) {
    spans.AddMatch(at, at + literal.size());
  }
  spans.Finish();
  return list;
}

std::vector<Span> JoinSpans(std::vector<Span> spans, SplitBehavior behavior) {
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

}  // namespace scorecast::coordinator
