#pragma once

#include <cstdint>

namespace scorecast::coordinator {

/// What becomes of spellings of special tokens in a text.
enum class SpecialTokensInText {
  kAllow,   ///< They are the special tokens, as in the reference.
  kEscape,  ///< They are plain text.
};

/// The end at which a text with too many tokens is cut.
enum class TruncationSide : std::uint8_t { kRight, kLeft };

struct EncodeOptions {
  /// False for a later section of a text. The tokenizer then leaves out what it usually puts before
  /// the first piece of a text, such as SentencePiece's dummy prefix or ByteLevel's prefix space.
  bool at_start = true;
  /// True for a later section that follows an added token. The tokenizer then puts before it what
  /// it usually puts behind an added token.
  bool behind_token = false;
  SpecialTokensInText special_tokens = SpecialTokensInText::kAllow;

  friend bool operator==(const EncodeOptions&, const EncodeOptions&) = default;
};

}  // namespace scorecast::coordinator
