#include "coordinator/text/unicode/utf8.h"

#include <cstdint>

namespace scorecast::coordinator {
namespace {

struct Sequence {
  std::size_t length = 0;  ///< At least 1; for an invalid sequence, that of its maximal subpart.
  bool valid = false;
};

/// The sequence at the beginning of `bytes`, which is not empty (Unicode 15, table 3-7).
Sequence FirstSequence(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) {
    return {1, true};
  }
  std::size_t length = 0;
  // Only the second byte's range depends on the first.
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    low = lead == 0xE0 ? 0xA0 : low;    // overlong
    high = lead == 0xED ? 0x9F : high;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    low = lead == 0xF0 ? 0x90 : low;    // overlong
    high = lead == 0xF4 ? 0x8F : high;  // past U+10FFFF
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size() || byte(i) < low || byte(i) > high) {
      return {i, false};
    }
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const Sequence sequence = FirstSequence(text);
    if (!sequence.valid) {
      return false;
    }
    text.remove_prefix(sequence.length);
  }
  return true;
}

CodePoint FirstCodePoint(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) {
    return {lead, 1};
  }
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  return {value, length};
}

CodePoint LastCodePoint(std::string_view text) {
  std::size_t start = text.size() - 1;
  while ((static_cast<std::uint8_t>(text[start]) & 0xC0) == 0x80) {
    --start;
  }
  return FirstCodePoint(text.substr(start));
}

void AppendUtf8(char32_t code_point, std::string& text) {
  const auto append = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code_point < 0x80) {
    append(code_point);
    return;
  }
  if (code_point < 0x800) {
    append(0xC0 | (code_point >> 6));
  } else {
    if (code_point < 0x10000) {
      append(0xE0 | (code_point >> 12));
    } else {
      append(0xF0 | (code_point >> 18));
      append(0x80 | ((code_point >> 12) & 0x3F));
    }
    append(0x80 | ((code_point >> 6) & 0x3F));
  }
  append(0x80 | (code_point & 0x3F));
}

std::string ReplaceInvalidUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Sequence sequence = FirstSequence(bytes);
    text += sequence.valid ? bytes.substr(0, sequence.length) : std::string_view("\xEF\xBF\xBD");
    bytes.remove_prefix(sequence.length);
  }
  return text;
}

}  // namespace scorecast::coordinator
