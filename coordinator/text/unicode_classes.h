#pragma once

namespace scorecast::coordinator {

/// The property White_Space, which is what `\s` means in the reference's expressions.
bool IsWhiteSpace(char32_t code_point);

/// `\w` of Rust's regex crate: Alphabetic, M, Nd, Pc and Join_Control (Unicode TS 18, annex C).
bool IsWordCharacter(char32_t code_point);

/// The categories Nd, Nl and No: Rust's char::is_numeric.
bool IsNumeric(char32_t code_point);

}  // namespace scorecast::coordinator
