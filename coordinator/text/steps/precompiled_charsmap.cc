#include "coordinator/text/steps/precompiled_charsmap.h"

#include <cstddef>

#include <utf8proc.h>

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

std::uint32_t LittleEndian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = (value << 8) | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

// The fields of a unit of the double array.
bool HasLeaf(std::uint32_t unit) { return ((unit >> 8) & 1) != 0; }
std::uint32_t Value(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
std::uint32_t Label(std::uint32_t unit) { return unit & 0x800000FF; }
std::size_t Offset(std::uint32_t unit) {
  return std::size_t{unit >> 10} << ((unit & (1u << 9)) >> 6);
}

bool IsContinuation(char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0) == 0x80; }

/// Length of the grapheme cluster with which `text` begins.
std::size_t FirstGrapheme(std::string_view text) {
  CodePoint previous = FirstCodePoint(text);
  std::size_t length = previous.length;
  utf8proc_int32_t state = 0;
  while (length < text.size()) {
    const CodePoint next = FirstCodePoint(text.substr(length));
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous.value),
                                         static_cast<utf8proc_int32_t>(next.value), &state)) {
      break;
    }
    length += next.length;
    previous = next;
  }
  return length;
}

}  // namespace

std::optional<PrecompiledCharsmap> PrecompiledCharsmap::Parse(std::string_view bytes) {
  if (bytes.size() < 4) {
    return std::nullopt;
  }
  const std::size_t size = LittleEndian(bytes) / 4 * 4;
  bytes.remove_prefix(4);
  if (size == 0 || size > bytes.size() || !IsValidUtf8(bytes.substr(size))) {
    return std::nullopt;
  }
  std::vector<std::uint32_t> units;
  units.reserve(size / 4);
  for (std::size_t at = 0; at < size; at += 4) {
    units.push_back(LittleEndian(bytes.substr(at, 4)));
  }
  return PrecompiledCharsmap(std::move(units), std::string(bytes.substr(size)));
}

std::optional<std::string_view> PrecompiledCharsmap::Find(std::string_view text) const {
  std::size_t node = Offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || Label(units_[node]) != byte) {
      return std::nullopt;
    }
    const std::uint32_t unit = units_[node];
    node ^= Offset(unit);
    if (!HasLeaf(unit)) {
      continue;
    }
    const std::size_t begin = node < units_.size() ? Value(units_[node]) : replacements_.size() + 1;
    if (begin > replacements_.size() ||
        (begin < replacements_.size() && IsContinuation(replacements_[begin]))) {
      return std::nullopt;  // The double array is broken.
    }
    const std::string_view rest = std::string_view(replacements_).substr(begin);
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

std::vector<PrecompiledCharsmap::Part> PrecompiledCharsmap::Cut(std::string_view text) const {
  constexpr std::size_t kLongGrapheme =
      6;  // In bytes. The characters of a longer cluster are looked up one by one.
  std::vector<Part> parts;
  while (!text.empty()) {
    std::string_view grapheme = text.substr(0, FirstGrapheme(text));
    text.remove_prefix(grapheme.size());
    if (grapheme.size() < kLongGrapheme) {
      if (const std::optional<std::string_view> found = Find(grapheme)) {
        parts.push_back({grapheme, found});
        continue;
      }
    }
    while (!grapheme.empty()) {
      const std::string_view character = grapheme.substr(0, FirstCodePoint(grapheme).length);
      parts.push_back({character, Find(character)});
      grapheme.remove_prefix(character.size());
    }
  }
  return parts;
}

}  // namespace scorecast::coordinator
