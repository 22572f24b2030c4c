#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scorecast::coordinator {

/// The normalization rules that a SentencePiece model contains: texts and their replacements. Finds
/// the same rules as the reference (the spm_precompiled crate), which is not always what
/// SentencePiece finds.
class PrecompiledCharsmap {
 public:
  /// Reads the binary form: the size of a double array in bytes (32 bits, little endian), the
  /// double array (Darts), and the replacements, each of which ends with a zero byte. Returns
  /// nullopt if it is malformed.
  static std::optional<PrecompiledCharsmap> Parse(std::string_view bytes);

  /// The replacement of the shortest rule whose text is a prefix of `text`.
  std::optional<std::string_view> Find(std::string_view text) const;

  /// A part of a text and its replacement, if there is one.
  struct Part {
    std::string_view text;
    std::optional<std::string_view> replacement;
  };

  /// Cuts a text (valid UTF-8) into parts. A part is a grapheme cluster of less than six bytes that
  /// has a replacement, or else one character.
  std::vector<Part> Cut(std::string_view text) const;

 private:
  PrecompiledCharsmap(std::vector<std::uint32_t> units, std::string replacements)
      : units_(std::move(units)), replacements_(std::move(replacements)) {}

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace scorecast::coordinator
