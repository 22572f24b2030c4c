#include "coordinator/text/unicode/byte_alphabet.h"

#include <array>

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

struct ByteAlphabet {
  std::array<char32_t, 256> characters{};
  std::array<int, 0x180> bytes{};  ///< By code point; −1 outside of the alphabet.

  ByteAlphabet() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
      const char32_t character = printable ? static_cast<char32_t>(byte) : next++;
      characters[byte] = character;
      bytes[character] = byte;
    }
  }
};

const ByteAlphabet& Alphabet() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

}  // namespace

std::string ByteSpelling(std::uint8_t byte) {
  std::string spelling;
  AppendUtf8(Alphabet().characters[byte], spelling);
  return spelling;
}

std::optional<std::string> BytesOfSpelling(std::string_view text) {
  const ByteAlphabet& alphabet = Alphabet();
  std::string bytes;
  while (!text.empty()) {
    const CodePoint character = FirstCodePoint(text);
    if (character.value >= alphabet.bytes.size() || alphabet.bytes[character.value] < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(alphabet.bytes[character.value]);
    text.remove_prefix(character.length);
  }
  return bytes;
}

}  // namespace scorecast::coordinator
