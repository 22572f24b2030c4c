#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/text/unicode/regex.h"

namespace scorecast::coordinator {

/// Makes a text of the spellings of tokens, as the decoders of Hugging Face's tokenizers library
/// do: a sequence of steps.
class Decoder {
 public:
  /// In each token.
  struct Replace {
    Regex pattern;
    std::string content;
  };
  /// Tokens of the form <0x41> are bytes. Neighbours among them become text if they are valid UTF-8
  /// together, or else one U+FFFD each.
  struct ByteFallback {};
  /// Joins all tokens.
  struct Fuse {};
  /// Removes a character up to `most` times from the beginning of each token.
  struct Strip {
    std::string character;
    std::size_t most = 0;
  };
  /// The character is a space. It is left out of the first token if `drops_first`.
  struct Metaspace {
    std::string character;
    bool drops_first = true;
  };
  /// The tokens are spelled in the alphabet of byte-level BPE (see byte_alphabet.h). Joins them.
  /// Bytes that are not valid UTF-8 become U+FFFD.
  struct ByteLevel {};
  using Step = std::variant<Replace, ByteFallback, Fuse, Strip, Metaspace, ByteLevel>;

  explicit Decoder(std::vector<Step> steps) : steps_(std::move(steps)) {}

  std::string Decode(std::vector<std::string> tokens) const;

  bool HasByteLevel() const;

  /// Whether ByteFallback takes the token for a byte.
  bool IsByte(std::string token) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace scorecast::coordinator
