#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The case of a character, as Python's str.upper, str.lower and str.title have it.
enum class LetterCase { kUpper, kLower, kTitle };

/// Appends the character that begins at the byte `at` of `text`, which is valid UTF-8, in another
/// case: up to three characters. The small letter of a capital sigma depends on what stands around
/// it in `text`.
void AppendInCase(std::string_view text, std::size_t at, LetterCase wanted, std::string& result);

/// The property Cased: whether a character is a capital, a small or a titlecase letter.
bool IsCased(char32_t code_point);

}  // namespace scorecast::coordinator
