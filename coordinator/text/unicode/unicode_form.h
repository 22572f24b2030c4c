#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The normalization forms of Unicode.
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

/// `text` must be valid UTF-8. O(n log n) for any text. A character that is newer than the
/// reference's tables is not decomposed, as there.
std::string ToUnicodeForm(UnicodeForm form, std::string_view text);

}  // namespace scorecast::coordinator
