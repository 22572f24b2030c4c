#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

// Byte-level BPE writes its vocabulary in an alphabet of 256 visible characters, one for each byte:
// printable Latin-1 stands for itself, the others follow from U+0100 in order (GPT-2's
// bytes_to_unicode). So "Ġ" is a space and "Ċ" a line feed.

/// The character that stands for `byte`, as UTF-8.
std::string ByteSpelling(std::uint8_t byte);

/// The bytes that a vocabulary's text (valid UTF-8) stands for; nothing where it has a character
/// outside the alphabet.
std::optional<std::string> BytesOfSpelling(std::string_view text);

}  // namespace scorecast::coordinator
