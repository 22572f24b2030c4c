#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/text/unicode/regex.h"

namespace scorecast::coordinator {

/// Makes a text from the spellings of tokens, as the decoders of Hugging Face's tokenizers library
/// do: a sequence of steps.
class Decoder {
 public:
  /// Replaces the matches of a pattern in each token.
  struct Replace {
    Regex pattern;
    std::string content;
  };
  /// Tokens of the form <0x41> are bytes. A run of such tokens becomes text if its bytes are valid
  /// UTF-8, and otherwise one U+FFFD for each byte.
  struct ByteFallback {};
  /// Joins all tokens.
  struct Fuse {};
  /// Removes a character from the beginning of each token, at most `most` times.
  struct Strip {
    std::string character;
    std::size_t most = 0;
  };
  /// Replaces the character by a space. If `drops_first`, the first token loses it instead.
  struct Metaspace {
    std::string character;
    bool drops_first = true;
  };
  /// Puts a space before each token but the first one, unless it begins with `prefix`, which is
  /// then removed. `cleanup` removes spaces before punctuation and English contractions.
  struct WordPiece {
    std::string prefix;
    bool cleanup = false;
  };
  /// Replaces `suffix`, which ends the tokens at the ends of words, by a space. The last token
  /// loses it instead.
  struct WordEnds {
    std::string suffix;
  };
  /// The tokens are spelled in the alphabet of byte-level BPE (see byte_alphabet.h). Joins their
  /// bytes. Bytes that are not valid UTF-8 become U+FFFD.
  struct ByteLevel {};
  /// Puts a space before each token but the first one.
  struct Spaces {};
  using Step = std::variant<Replace, ByteFallback, Fuse, Strip, Metaspace, WordPiece, WordEnds,
                            ByteLevel, Spaces>;

  explicit Decoder(std::vector<Step> steps) : steps_(std::move(steps)) {}

  std::string Decode(std::vector<std::string> tokens) const;

  bool HasByteLevel() const { return Has<ByteLevel>(); }
  bool HasWordEnds() const { return Has<WordEnds>(); }

  /// Whether ByteFallback treats the token as a byte.
  bool IsByte(std::string token) const;

 private:
  template <typename Kind>
  bool Has() const {
    return std::any_of(steps_.begin(), steps_.end(),
                       [](const Step& step) { return std::holds_alternative<Kind>(step); });
  }

  std::vector<Step> steps_;
};

}  // namespace scorecast::coordinator
