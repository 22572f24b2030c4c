#include "coordinator/text/unicode/unicode_form.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <utf8proc.h>

#include "coordinator/text/unicode/utf8.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {
namespace {

constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
constexpr auto kDecompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
constexpr auto kDecomposeCompatibly =
    static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);

struct CharacterRange {
  char32_t first = 0;
  char32_t last = 0;
};

/// Characters that are decomposed in utf8proc's tables (Unicode 15), but not in the older tables of
/// the reference.
constexpr std::array<CharacterRange, 10> kNotDecomposed = {{{0x32FF, 0x32FF},
                                                            {0xA7F2, 0xA7F4},
                                                            {0xAB69, 0xAB69},
                                                            {0x10781, 0x10785},
                                                            {0x10787, 0x107B0},
                                                            {0x107B2, 0x107BA},
                                                            {0x11938, 0x11938},
                                                            {0x1E030, 0x1E06D},
                                                            {0x1F16C, 0x1F16C},
                                                            {0x1FBF0, 0x1FBF9}}};

bool IsDecomposed(char32_t code_point) {
  return std::none_of(kNotDecomposed.begin(), kNotDecomposed.end(),
                      [&](const CharacterRange& range) {
                        return range.first <= code_point && code_point <= range.last;
                      });
}

utf8proc_propval_t CombiningClass(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

std::vector<utf8proc_int32_t> Decompose(std::string_view text, utf8proc_option_t options) {
  std::vector<utf8proc_int32_t> code_points;
  code_points.reserve(text.size());
  // The longest decomposition of one character has 18 code points.
  std::array<utf8proc_int32_t, 32> parts{};
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    const auto code_point = static_cast<utf8proc_int32_t>(first.value);
    if (first.value >= 0x80 && !IsDecomposed(first.value)) {
      code_points.push_back(code_point);
      text.remove_prefix(first.length);
      continue;
    }
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(code_point, parts.data(), parts.size(), options, nullptr);
    proto::Check(count >= 0 && count <= static_cast<utf8proc_ssize_t>(parts.size()),
                 "a valid code point decomposes");
    code_points.insert(code_points.end(), parts.begin(), parts.begin() + count);
    text.remove_prefix(first.length);
  }
  return code_points;
}

/// Puts combining marks into canonical order. utf8proc's own ordering takes quadratic time for a
/// run of combining marks, and a client may send a run of any length.
void OrderCombiningMarks(std::vector<utf8proc_int32_t>& code_points) {
  const auto is_mark = [](utf8proc_int32_t c) { return CombiningClass(c) != 0; };
  auto run = code_points.begin();
  while ((run = std::find_if(run, code_points.end(), is_mark)) != code_points.end()) {
    const auto run_end = std::find_if_not(run, code_points.end(), is_mark);
    std::stable_sort(run, run_end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return CombiningClass(a) < CombiningClass(b);
    });
    run = run_end;
  }
}

/// Composes what can be composed. utf8proc takes U+11A7, which is one less than the first trailing
/// consonant of Hangul, for a trailing consonant, and would leave it out. U+11A7 composes with
/// nothing, so the text is cut before each one.
void Compose(std::vector<utf8proc_int32_t>& code_points) {
  constexpr utf8proc_int32_t kBeforeTrailingConsonants = 0x11A7;
  auto out = code_points.begin();
  for (auto begin = out; begin != code_points.end();) {
    const auto end = std::find(begin + 1, code_points.end(), kBeforeTrailingConsonants);
    const utf8proc_ssize_t length = utf8proc_normalize_utf32(&*begin, end - begin, kCompose);
    proto::Check(length >= 0, "valid code points compose");
    out = std::copy_n(begin, length, out);
    begin = end;
  }
  code_points.erase(out, code_points.end());
}

}  // namespace

std::string ToUnicodeForm(UnicodeForm form, std::string_view text) {
  const bool composed = form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
  const bool compatible = form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
  // A text whose code points are all below U+0300 (CC 80 in UTF-8) has no combining marks and is in
  // NFC. A text in ASCII is in every form.
  const std::uint8_t least = form == UnicodeForm::kNfc ? 0xCC : 0x80;
  const auto may_change = [&](char c) { return static_cast<std::uint8_t>(c) >= least; };
  if (std::none_of(text.begin(), text.end(), may_change)) {
    return std::string(text);
  }
  std::vector<utf8proc_int32_t> code_points =
      Decompose(text, compatible ? kDecomposeCompatibly : kDecompose);
  OrderCombiningMarks(code_points);
  if (composed) {
    Compose(code_points);
  }
  std::string result;
  result.reserve(text.size());
  for (const utf8proc_int32_t code_point : code_points) {
    AppendUtf8(static_cast<char32_t>(code_point), result);
  }
  return result;
}

}  // namespace scorecast::coordinator
