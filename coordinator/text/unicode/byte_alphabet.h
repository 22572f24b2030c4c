#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

// Byte-level BPE spells its vocabulary in an alphabet of 256 visible characters, one for each byte.
// Printable Latin-1 characters stand for themselves; the other bytes are numbered from U+0100 on,
// in order (GPT-2's bytes_to_unicode). For example, "Ġ" is a space and "Ċ" a line feed.

/// The character that stands for `byte`, as UTF-8.
std::string ByteSpelling(std::uint8_t byte);

/// The bytes that a text of the vocabulary (valid UTF-8) stands for; nullopt if it has a character
/// outside of the alphabet.
std::optional<std::string> BytesOfSpelling(std::string_view text);

}  // namespace scorecast::coordinator
