#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// Normalization of a text before it is tokenized.
enum class Normalization { kNone, kNfc };

/// `text` must be valid UTF-8. O(n log n) for any text.
std::string Normalize(Normalization normalization, std::string_view text);

}  // namespace scorecast::coordinator
