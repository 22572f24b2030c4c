#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The property White_Space, which is what `\s` means in the reference's expressions.
bool IsWhiteSpace(char32_t code_point);

/// `\w` of Rust's regex crate: Alphabetic, M, Nd, Pc and Join_Control (Unicode TS 18, annex C).
bool IsWordCharacter(char32_t code_point);

/// The categories Nd, Nl and No: Rust's char::is_numeric.
bool IsNumeric(char32_t code_point);

/// The characters at which the reference's Punctuation splits: ASCII punctuation, and category P in
/// an old version of Unicode.
bool IsPunctuation(char32_t code_point);

/// The category Mn in an old version of Unicode: the accents that the reference's BertNormalizer
/// removes.
bool IsNonspacingMark(char32_t code_point);

/// The category M in the version that the reference's StripAccents has: all accents, also spacing
/// and enclosing ones.
bool IsMark(char32_t code_point);

/// The categories Cc, Cf and Co in the same version: controls, formats and private use.
bool IsControl(char32_t code_point);

/// The ideographs, without Kana and Hangul, around which the reference's BertNormalizer puts
/// spaces.
bool IsChinese(char32_t code_point);

/// Appends the lower case of a character as UTF-8: Rust's char::to_lowercase.
void AppendLowercase(char32_t code_point, std::string& text);

/// The text behind the white space that it begins with. `text` is valid UTF-8.
std::string_view WithoutLeadingSpace(std::string_view text);

}  // namespace scorecast::coordinator
