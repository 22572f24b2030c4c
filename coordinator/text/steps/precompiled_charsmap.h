#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scorecast::coordinator {

/// The normalization rules that a SentencePiece model contains: texts and their replacements. It
/// finds what the reference (the spm_precompiled crate) finds, which is not always what
/// SentencePiece finds.
class PrecompiledCharsmap {
 public:
  /// Reads the binary form: the size of a double array in bytes (32 bits, little endian), the
  /// double array (Darts), and the replacements, each of which ends with a zero byte. Returns
  /// nullopt if it is malformed.
  static std::optional<PrecompiledCharsmap> Parse(std::string_view bytes);

  /// The replacement of the shortest rule with which `text` begins.
  std::optional<std::string_view> Find(std::string_view text) const;

  /// A part of a text and its replacement, if there is one.
  struct Part {
    std::string_view text;
    std::optional<std::string_view> replacement;
  };

  /// Cuts a text (valid UTF-8) into parts: a grapheme cluster that has less than six bytes and a
  /// replacement, or else a character.
  std::vector<Part> Cut(std::string_view text) const;

 private:
  PrecompiledCharsmap(std::vector<std::uint32_t> units, std::string replacements)
      : units_(std::move(units)), replacements_(std::move(replacements)) {}

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace scorecast::coordinator
