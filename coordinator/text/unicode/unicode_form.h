#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The normalization forms of Unicode.
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

/// `text` must be valid UTF-8. O(n log n) for any text. As in the reference, a character newer than
/// the reference's tables is not decomposed.
std::string ToUnicodeForm(UnicodeForm form, std::string_view text);

}  // namespace scorecast::coordinator
