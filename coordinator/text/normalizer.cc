#include "coordinator/text/normalizer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <utf8proc.h>

#include "coordinator/text/utf8.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {
namespace {

constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
constexpr auto kDecompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);

utf8proc_propval_t CombiningClass(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

std::vector<utf8proc_int32_t> Decompose(std::string_view text) {
  std::vector<utf8proc_int32_t> code_points;
  code_points.reserve(text.size());
  // The longest canonical decomposition of one character has four code points.
  std::array<utf8proc_int32_t, 32> parts{};
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(first.value), parts.data(),
                                parts.size(), kDecompose, nullptr);
    proto::Check(count >= 0 && count <= static_cast<utf8proc_ssize_t>(parts.size()),
                 "a valid code point decomposes");
    code_points.insert(code_points.end(), parts.begin(), parts.begin() + count);
    text.remove_prefix(first.length);
  }
  return code_points;
}

/// Puts combining marks into canonical order. utf8proc's own ordering takes quadratic time for a
/// run of combining marks, which a client may make as long as it likes.
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

std::string Nfc(std::string_view text) {
  // A text whose code points are all below U+0300 (CC 80 in UTF-8) has no combining marks and is in
  // NFC.
  const auto may_change = [](char c) { return static_cast<std::uint8_t>(c) >= 0xCC; };
  if (std::none_of(text.begin(), text.end(), may_change)) {
    return std::string(text);
  }
  std::vector<utf8proc_int32_t> code_points = Decompose(text);
  OrderCombiningMarks(code_points);
  const utf8proc_ssize_t length = utf8proc_normalize_utf32(
      code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()), kCompose);
  proto::Check(length >= 0, "valid code points compose");
  std::string result;
  result.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < length; ++i) {
    AppendUtf8(static_cast<char32_t>(code_points[i]), result);
  }
  return result;
}

}  // namespace

std::string Normalize(Normalization normalization, std::string_view text) {
  return normalization == Normalization::kNfc ? Nfc(text) : std::string(text);
}

}  // namespace scorecast::coordinator
