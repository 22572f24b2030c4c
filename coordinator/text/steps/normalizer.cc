#include "coordinator/text/steps/normalizer.h"

#include <algorithm>
#include <optional>

#include "coordinator/text/unicode/spans.h"
#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

// Each step keeps first_bytes in the same way as the reference keeps its alignments: a new
// character stands for the same original characters as the characters that it replaces.

/// Number of bytes in the first character of a text; 0 if it is empty.
std::size_t FirstLength(std::string_view text) {
  return text.empty() ? 0 : FirstCodePoint(text).length;
}

StagedText Normalized(UnicodeForm form, StagedText in) {
  StagedText out{.text = ToUnicodeForm(form, in.text)};
  if (in.first_bytes == 0 || out.text.empty()) {
    return out;
  }
  const std::string_view first = std::string_view(in.text).substr(0, in.first_bytes);
  const std::string_view rest = std::string_view(in.text).substr(in.first_bytes);
  const std::string_view next = rest.substr(0, FirstLength(rest));
  const std::string alone = ToUnicodeForm(form, first);
  const bool combines = ToUnicodeForm(form, std::string(first) + std::string(next)) !=
                        alone + ToUnicodeForm(form, next);
  // This includes the case that the first character combines with a mark behind the next character.
  out.first_bytes = combines || !out.text.starts_with(alone) ? FirstLength(out.text) : alone.size();
  return out;
}

StagedText Prepended(const Normalizer::Prepend& step, StagedText in) {
  if (in.text.empty()) {
    return in;
  }
  in.text.insert(0, step.text);
  in.first_bytes += in.first_bytes > 0 ? step.text.size() : 0;
  return in;
}

StagedText Replaced(const Normalizer::Replace& step, const StagedText& in) {
  StagedText out;
  out.text.reserve(in.text.size());
  for (const Span& span : FindSpans(in.text, step.pattern)) {
    if (span.is_match) {
      // The replacement of a match stands for the match's last character.
      out.text += step.content;
      const bool is_first = in.first_bytes > 0 && span.end <= in.first_bytes;
      out.first_bytes += is_first ? step.content.size() : 0;
    } else {
      out.text += std::string_view(in.text).substr(span.begin, span.end - span.begin);
      out.first_bytes += std::min(span.end, std::max(span.begin, in.first_bytes)) - span.begin;
    }
  }
  return out;
}

StagedText Stripped(const Normalizer::Strip& step, const StagedText& in) {
  std::string_view rest = in.text;
  while (step.left && !rest.empty() && IsWhiteSpace(FirstCodePoint(rest).value)) {
    rest.remove_prefix(FirstCodePoint(rest).length);
  }
  const std::size_t removed = in.text.size() - rest.size();
  while (step.right && !rest.empty() && IsWhiteSpace(LastCodePoint(rest).value)) {
    rest.remove_suffix(LastCodePoint(rest).length);
  }
  const std::size_t first_bytes = in.first_bytes - std::min(in.first_bytes, removed);
  return {.text = std::string(rest), .first_bytes = std::min(first_bytes, rest.size())};
}

StagedText Mapped(const Normalizer::Map& step, const StagedText& in) {
  StagedText out;
  out.text.reserve(in.text.size());
  for (std::size_t at = 0; at < in.text.size();) {
    const CodePoint character = FirstCodePoint(std::string_view(in.text).substr(at));
    const std::size_t size = out.text.size();
    step.append(character.value, out.text);
    out.first_bytes += at < in.first_bytes ? out.text.size() - size : 0;
    at += character.length;
  }
  return out;
}

std::size_t CountCharacters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// Computes first_bytes of a text that is replaced part by part. It follows from the number of old
/// characters for which each new character stands.
class FirstBytesOfParts {
 public:
  explicit FirstBytesOfParts(const StagedText& in) : in_(in) {}

  void Add(std::string_view before, std::string_view after) {
    std::size_t old_count = CountCharacters(before);
    const std::size_t new_count = CountCharacters(after);
    for (std::size_t at = 0, i = 0; at < after.size(); ++i) {
      const std::size_t length = FirstCodePoint(after.substr(at)).length;
      made_.push_back({length, i < old_count ? std::size_t{1} : 0});
      at += length;
    }
    // If more characters were replaced than made, the rest belong to the character made last, which
    // may be one of an earlier part. If there is none, the reference forgets them.
    if (old_count > new_count && !made_.empty()) {
      made_.back().replaced += old_count - new_count;
    }
  }

  std::size_t Result() const {
    const std::string_view text = in_.text;
    std::size_t bytes = 0;
    std::size_t at = 0;           // The old character for which the next replacing one stands.
    std::size_t previous_at = 0;  // Begin of the old character before it.
    for (const Made& made : made_) {
      const std::size_t stands_for = made.replaced > 0 ? at : previous_at;
      if (stands_for >= in_.first_bytes) {
        break;
      }
      bytes += made.length;
      for (std::size_t i = 0; i < made.replaced && at < text.size(); ++i) {
        previous_at = at;
        at += FirstCodePoint(text.substr(at)).length;
      }
    }
    return bytes;
  }

 private:
  struct Made {
    std::size_t length = 0;
    std::size_t replaced = 0;  ///< Number of characters replaced; 0 for one that was inserted.
  };

  const StagedText& in_;
  std::vector<Made> made_;
};

StagedText Mapped(const PrecompiledCharsmap& charsmap, const StagedText& in) {
  StagedText out;
  out.text.reserve(in.text.size());
  FirstBytesOfParts first_bytes(in);
  for (const PrecompiledCharsmap::Part& part : charsmap.Cut(in.text)) {
    const std::string_view replacement = part.replacement.value_or(part.text);
    out.text += replacement;
    if (in.first_bytes > 0) {
      first_bytes.Add(part.text, replacement);
    }
  }
  out.first_bytes = first_bytes.Result();
  return out;
}

/// Calls the function of each kind of step.
struct ApplyStep {
  StagedText in;
  bool at_start;

  StagedText operator()(UnicodeForm form) { return Normalized(form, std::move(in)); }
  StagedText operator()(const Normalizer::Prepend& step) {
    return in.first_bytes > 0 && !at_start ? std::move(in) : Prepended(step, std::move(in));
  }
  StagedText operator()(const Normalizer::Replace& step) { return Replaced(step, in); }
  StagedText operator()(const Normalizer::Strip& step) { return Stripped(step, in); }
  StagedText operator()(const Normalizer::Map& step) { return Mapped(step, in); }
  StagedText operator()(const PrecompiledCharsmap& charsmap) { return Mapped(charsmap, in); }
};

}  // namespace

StagedText Normalizer::Apply(StagedText text, bool at_start) const {
  const bool begins_later_section = !at_start && text.first_bytes > 0;
  for (const Step& step : steps_) {
    text = std::visit(ApplyStep{std::move(text), at_start}, step);
    if (begins_later_section) {
      text.first_bytes = FirstLength(text.text);
    }
  }
  return text;
}

std::string Normalizer::Apply(std::string_view text) const {
  return Apply(StagedText{.text = std::string(text)}, /*at_start=*/true).text;
}

}  // namespace scorecast::coordinator
