// Normalization of a text whose end is open.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <utf8proc.h>

#include "coordinator/text/steps/normalizer.h"
#include "coordinator/text/unicode/open_spans.h"
#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

/// Whether a character never combines with the characters before it, in any normalization form.
bool BeginsUnicodeSegment(char32_t character) {
  if (character < 0x80) {
    return true;
  }
  std::array<utf8proc_int32_t, 32> parts{};
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(character), parts.data(), parts.size(),
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT),
      nullptr);
  if (count < 1) {
    return false;
  }
  for (const utf8proc_int32_t first : {static_cast<utf8proc_int32_t>(character), parts[0]}) {
    const utf8proc_category_t category = utf8proc_category(first);
    const bool is_mark = category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
                         category == UTF8PROC_CATEGORY_ME || category == UTF8PROC_CATEGORY_CN;
    const bool is_second_jamo = first >= 0x1160 && first <= 0x11FF;
    if (is_mark || is_second_jamo || utf8proc_get_property(first)->combining_class != 0) {
      return false;
    }
  }
  return true;
}

/// Whether a grapheme cluster certainly ends between two characters.
bool EndsCluster(char32_t before, char32_t after) {
  const auto class_of = [](char32_t c) {
    return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->boundclass;
  };
  const auto left = class_of(before);
  return (left == UTF8PROC_BOUNDCLASS_OTHER || left == UTF8PROC_BOUNDCLASS_CONTROL ||
          left == UTF8PROC_BOUNDCLASS_CR || left == UTF8PROC_BOUNDCLASS_LF) &&
         class_of(after) == UTF8PROC_BOUNDCLASS_OTHER;
}

/// Normalizes the segments of a text one by one. begins_segment(c) says whether a segment certainly
/// begins at the character c. The last segment is left out, because more text may belong to it.
template <typename BeginsSegment, typename Normalize>
OpenText BySegments(const OpenText& in, BeginsSegment begins_segment, Normalize normalize) {
  OpenTextBuilder out;
  std::size_t begin = 0;
  const std::string_view text = in.text;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint character = FirstCodePoint(text.substr(at));
    if (at > 0 && begins_segment(character.value)) {
      out.Add(normalize(text.substr(begin, at - begin)), in.places[begin]);
      begin = at;
    }
    at += character.length;
  }
  return std::move(out).Finish(in.places[begin]);
}

struct ApplyOpen {
  OpenText in;
  bool puts_prefix;

  OpenText operator()(UnicodeForm form) {
    return BySegments(in, BeginsUnicodeSegment,
                      [&](std::string_view segment) { return ToUnicodeForm(form, segment); });
  }

  OpenText operator()(const Normalizer::Prepend& step) {
    if (!puts_prefix || in.text.empty()) {
      return std::move(in);
    }
    OpenTextBuilder out;
    out.Add(step.text, OpenText::kNoPlace);
    // No cut: the text behind the prefix would get a prefix, too.
    in.places[0] = OpenText::kNoPlace;
    out.Copy(in, 0, in.text.size());
    return std::move(out).Finish(in.places.back());
  }

  OpenText operator()(const Normalizer::Replace& step) {
    const OpenSpans found = FindOpenSpans(in.text, step.pattern);
    OpenTextBuilder out;
    for (const Span& span : found.spans) {
      if (span.is_match) {
        out.Add(step.content, in.places[span.begin]);
      } else {
        out.Copy(in, span.begin, span.end);
      }
    }
    out.Copy(in, found.end(), found.searched);
    return std::move(out).Finish(in.places[found.searched]);
  }

  OpenText operator()(const Normalizer::Strip& step) {
    const std::string_view text = in.text;
    std::size_t begin = 0;
    while (step.left && begin < text.size() &&
           IsWhiteSpace(FirstCodePoint(text.substr(begin)).value)) {
      begin += FirstCodePoint(text.substr(begin)).length;
    }
    std::size_t end = text.size();
    while (step.right && end > begin && IsWhiteSpace(LastCodePoint(text.substr(0, end)).value)) {
      end -= LastCodePoint(text.substr(0, end)).length;  // Stripped if no other text follows.
    }
    for (std::size_t i = begin; step.left && i <= end; ++i) {
      // No cut before white space: a later section that begins with it would be stripped, too.
      if (in.places[i] != OpenText::kNoPlace &&
          (i == text.size() || IsWhiteSpace(FirstCodePoint(text.substr(i)).value))) {
        in.places[i] = OpenText::kNoPlace;
      }
    }
    in.Keep(begin, end);
    return std::move(in);
  }

  OpenText operator()(const Normalizer::Map& step) {
    OpenTextBuilder out;
    std::string made;
    const std::string_view text = in.text;
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint character = FirstCodePoint(text.substr(at));
      made.clear();
      step.append(character.value, made);
      out.Add(made, in.places[at]);
      at += character.length;
    }
    return std::move(out).Finish(in.places.back());
  }

  OpenText operator()(const PrecompiledCharsmap& charsmap) {
    const std::string_view text = in.text;
    std::size_t certain = 0;  // The start of the last cluster.
    std::optional<char32_t> before;
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint character = FirstCodePoint(text.substr(at));
      if (before && EndsCluster(*before, character.value)) {
        certain = at;
      } else if (before) {
        in.places[at] = OpenText::kNoPlace;
      }
      before = character.value;
      at += character.length;
    }
    OpenTextBuilder out;
    for (const PrecompiledCharsmap::Part& part : charsmap.Cut(text.substr(0, certain))) {
      const auto begin = static_cast<std::size_t>(part.text.data() - text.data());
      out.Add(part.replacement.value_or(part.text), in.places[begin]);
    }
    return std::move(out).Finish(in.places[certain]);
  }
};

}  // namespace

void Normalizer::Apply(OpenPiece& piece, bool at_start) const {
  const StagedText beginning =
      Apply(StagedText{piece.text.text, piece.is_first && !piece.text.text.empty()
                                            ? FirstCodePoint(piece.text.text).length
                                            : 0},
            at_start);
  const bool puts_prefix = at_start || !piece.is_first;
  for (const Step& step : steps_) {
    piece.text = std::visit(ApplyOpen{std::move(piece.text), puts_prefix}, step);
  }
  piece.is_first = beginning.first_bytes > 0;
}

}  // namespace scorecast::coordinator
