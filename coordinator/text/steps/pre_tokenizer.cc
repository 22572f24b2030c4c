#include "coordinator/text/steps/pre_tokenizer.h"

#include <algorithm>

#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

constexpr std::string_view kGpt2Expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

using Piece = PreTokenizer::Piece;

Piece PartOf(const Piece& whole, std::size_t begin, std::size_t end) {
  return {.text = whole.text.substr(begin, end - begin),
          .first_bytes = std::min(end, std::max(begin, whole.first_bytes)) - begin};
}

/// The kinds of characters that WhitespaceStep distinguishes.
enum class Kind { kWhiteSpace, kWord, kOther };

Kind KindOf(char32_t c) {
  return IsWordCharacter(c) ? Kind::kWord : IsWhiteSpace(c) ? Kind::kWhiteSpace : Kind::kOther;
}

std::vector<Span> Split(std::string_view text, const SplitStep& step) {
  std::vector<Span> spans = FindSpans(text, step.pattern);
  if (step.invert) {
    for (Span& span : spans) {
      span.is_match = !span.is_match;
    }
  }
  return JoinSpans(std::move(spans), step.behavior);
}

std::vector<Span> Split(std::string_view text, const CharacterSplitStep& step) {
  return JoinSpans(FindSpans(text, step.has_property), step.behavior);
}

std::vector<Span> Split(std::string_view text, const WhitespaceStep& /*step*/) {
  std::vector<Span> spans;
  Kind previous = Kind::kWhiteSpace;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint character = FirstCodePoint(text.substr(at));
    const std::size_t end = at + character.length;
    const Kind kind = KindOf(character.value);
    if (kind != Kind::kWhiteSpace && kind == previous) {
      spans.back().end = end;
    } else if (kind != Kind::kWhiteSpace) {
      spans.push_back({at, end, true});
    }
    previous = kind;
    at = end;
  }
  return spans;
}

}  // namespace

ByteLevelStep::ByteLevelStep(bool prefix_space, bool use_regex) : add_prefix_space(prefix_space) {
  if (use_regex) {
    regex.emplace(kGpt2Expression);
  }
}

/// One call of Cut. Each piece goes through all steps before the next piece begins.
struct PreTokenizer::Cutting {
  const std::vector<Step>& steps;
  bool at_start;
  const std::function<void(std::string_view)>& piece;

  void From(std::size_t index, const Piece& whole) const {
    if (whole.text.empty()) {
      return;
    }
    if (index == steps.size()) {
      piece(whole.text);
      return;
    }
    std::visit([&](const auto& step) { Apply(step, whole, index + 1); }, steps[index]);
  }

 private:
  void Apply(const SplitStep& step, const Piece& whole, std::size_t next) const {
    if (step.behavior == SplitBehavior::kIsolated) {
      EachOf(step.pattern, whole, next);
    } else {
      EachOf(Split(whole.text, step), whole, next);
    }
  }

  template <typename SplittingStep>
  void Apply(const SplittingStep& step, const Piece& whole, std::size_t next) const {
    EachOf(Split(whole.text, step), whole, next);
  }

  void Apply(const MetaspaceStep& step, const Piece& whole, std::size_t next) const {
    std::string spelled;
    spelled.reserve(whole.text.size() + step.replacement.size());
    std::size_t first_bytes = 0;
    for (std::size_t at = 0; at < whole.text.size(); ++at) {
      const std::size_t size = spelled.size();
      if (whole.text[at] == ' ') {
        spelled += step.replacement;
      } else {
        spelled += whole.text[at];
      }
      first_bytes += at < whole.first_bytes ? spelled.size() - size : 0;
    }
    const bool is_first = whole.first_bytes > 0;
    const bool takes_prefix = step.prepend == MetaspaceStep::Prepend::kAlways ||
                              (step.prepend == MetaspaceStep::Prepend::kFirst && is_first);
    if (takes_prefix && MayPrepend(whole) && !spelled.starts_with(step.replacement)) {
      spelled.insert(0, step.replacement);
      first_bytes += is_first ? step.replacement.size() : 0;
    }
    const Piece prepared = {spelled, first_bytes};
    if (step.split) {
      EachOf(JoinSpans(FindSpans(spelled, step.replacement), SplitBehavior::kMergedWithNext),
             prepared, next);
    } else {
      From(next, prepared);
    }
  }

  void Apply(const ByteLevelStep& step, const Piece& whole, std::size_t next) const {
    Piece prepared = whole;
    std::string spaced;
    if (step.add_prefix_space && MayPrepend(whole) && !whole.text.starts_with(' ')) {
      spaced.reserve(whole.text.size() + 1);
      spaced += ' ';
      spaced += whole.text;
      prepared = {spaced, whole.first_bytes + (whole.first_bytes > 0 ? 1 : 0)};
    }
    if (step.regex) {
      EachOf(*step.regex, prepared, next);
    } else {
      From(next, prepared);
    }
  }

  bool MayPrepend(const Piece& whole) const { return at_start || whole.first_bytes == 0; }

  /// Passes on each match and each text between matches, without a list of them.
  void EachOf(const Regex& regex, const Piece& whole, std::size_t next) const {
    ForEachSpan(whole.text, regex,
                [&](const Span& span) { From(next, PartOf(whole, span.begin, span.end)); });
  }

  void EachOf(const std::vector<Span>& spans, const Piece& whole, std::size_t next) const {
    for (const Span& span : spans) {
      From(next, PartOf(whole, span.begin, span.end));
    }
  }
};

void PreTokenizer::Cut(const Piece& text, bool at_start,
                       const std::function<void(std::string_view)>& piece) const {
  Cutting{steps_, at_start, piece}.From(0, text);
}

}  // namespace scorecast::coordinator
