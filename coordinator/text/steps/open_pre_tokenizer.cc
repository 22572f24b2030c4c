// Pre-tokenization of a text whose end is open.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/text/steps/pre_tokenizer.h"
#include "coordinator/text/unicode/open_spans.h"
#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using Step = PreTokenizer::Step;

/// Whether one of `steps` puts something before a piece that begins with `text`. It would not do
/// that if the text were a later section.
bool IsPrefixed(std::span<const Step> steps, std::string_view text) {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    if (const auto* metaspace = std::get_if<MetaspaceStep>(&step)) {
      return metaspace->prepend == MetaspaceStep::Prepend::kAlways && !text.starts_with(' ') &&
             !text.starts_with(metaspace->replacement);
    }
    const auto* byte_level = std::get_if<ByteLevelStep>(&step);
    return byte_level != nullptr && byte_level->add_prefix_space && !text.starts_with(' ');
  });
}

/// Puts a prefix before a text. The place between them is no cut, because the text alone would not
/// have this prefix: it would get one of its own or, as a later section, none.
void Prepend(std::string_view prefix, OpenText& open) {
  OpenTextBuilder out;
  out.Add(prefix, OpenText::kNoPlace);
  open.places[0] = OpenText::kNoPlace;
  out.Copy(open, 0, open.text.size());
  open = std::move(out).Finish(open.places.back());
}

/// A piece while one step is applied to it. `later` are the steps after that one.
struct OpenCutting {
  OpenPiece& piece;
  bool at_start;
  std::span<const Step> later;

  void operator()(const SplitStep& step) const {
    const OpenSpans spans = FindOpenSpans(piece.text.text, step.pattern);
    const bool removes = step.behavior == SplitBehavior::kRemoved;
    CutAt(CertainBorders(spans, step.behavior, step.invert), spans.end(),
          removes && step.invert ? spans.end() : spans.searched, removes);
  }

  void operator()(const CharacterSplitStep& step) const {
    const OpenSpans spans = FindOpenSpans(piece.text.text, step.has_property);
    CutAt(CertainBorders(spans, step.behavior, /*invert=*/false), spans.end(), spans.searched,
          step.behavior == SplitBehavior::kRemoved);
  }

  void operator()(const WhitespaceStep& /*step*/) const {
    const std::string_view text = piece.text.text;
    std::vector<std::size_t> borders;
    char32_t previous = 0;
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint character = FirstCodePoint(text.substr(at));
      if (at > 0 && (IsWhiteSpace(previous) != IsWhiteSpace(character.value) ||
                     IsWordCharacter(previous) != IsWordCharacter(character.value))) {
        borders.push_back(at);
      }
      previous = character.value;
      at += character.length;
    }
    const std::size_t last = borders.empty() ? 0 : borders.back();
    CutAt(borders, last, IsWhiteSpace(previous) ? last : text.size(), /*removes=*/true);
  }

  void operator()(const MetaspaceStep& step) const {
    piece.uncut.clear();  // Forgotten, because this step spells spaces differently.
    OpenText& open = piece.text;
    OpenTextBuilder spelled;
    for (std::size_t at = 0; at < open.text.size(); ++at) {
      if (open.text[at] == ' ') {
        spelled.Add(step.replacement, open.places[at]);
      } else {
        spelled.Copy(open, at, at + 1);
      }
    }
    open = std::move(spelled).Finish(open.places.back());
    const bool takes_prefix = step.prepend == MetaspaceStep::Prepend::kAlways ||
                              (step.prepend == MetaspaceStep::Prepend::kFirst && piece.is_first);
    if (takes_prefix && MayPrepend() && !open.text.starts_with(step.replacement)) {
      Prepend(step.replacement, open);
    }
    std::vector<std::size_t> borders;
    if (step.split) {
      for (std::size_t at = open.text.find(step.replacement, 1); at != std::string::npos;
           at = open.text.find(step.replacement, at + 1)) {
        borders.push_back(at);
      }
    }
    CutAt(borders, borders.empty() ? 0 : borders.back(), open.text.size(), /*removes=*/false);
  }

  void operator()(const ByteLevelStep& step) const {
    if (step.add_prefix_space && MayPrepend() && !piece.text.text.starts_with(' ')) {
      Prepend(" ", piece.text);
    }
    if (step.regex) {
      const OpenSpans spans = FindOpenSpans(piece.text.text, *step.regex);
      CutAt(CertainBorders(spans, SplitBehavior::kIsolated, /*invert=*/false), spans.end(),
            spans.searched, /*removes=*/false);
    }
  }

 private:
  bool MayPrepend() const { return !piece.text.text.empty() && (at_start || !piece.is_first); }

  /// Keeps the text behind the last border. If that border is the end of the last match,
  /// `matches_end`, the text is kept up to byte `end`. If not, the border is inside of a match.
  /// Nothing behind it is certain then, because a section that begins there may have other matches,
  /// so the text ends at the border. `removes` says whether the step may remove text.
  void CutAt(const std::vector<std::size_t>& borders, std::size_t matches_end, std::size_t end,
             bool removes) const {
    OpenText& open = piece.text;
    const auto last = std::find_if(borders.rbegin(), borders.rend(), [&](std::size_t border) {
      return open.places[border] != OpenText::kNoPlace &&
             !IsPrefixed(later, std::string_view(open.text).substr(border));
    });
    if (last != borders.rend()) {
      piece.cut = open.places[*last];
    }
    const std::size_t begin = borders.empty() ? 0 : borders.back();
    const std::size_t kept = begin == matches_end ? end : begin;
    if (removes) {
      piece.uncut.clear();
    } else {
      piece.uncut.insert(0, open.text, kept);
    }
    piece.is_first = piece.is_first && begin == 0;
    open.Keep(begin, kept);
  }
};

}  // namespace

void PreTokenizer::GoToLast(OpenPiece& text, bool at_start) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    std::visit(OpenCutting{text, at_start, std::span(steps_).subspan(i + 1)}, steps_[i]);
  }
}

}  // namespace scorecast::coordinator
