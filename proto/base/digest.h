#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace scorecast::proto {

/// FNV-1a of 64 bits. It tells whether two contents are copies, but is no defence against contents
/// that somebody made to have the same digest.
class Digest {
 public:
  void Add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      value_ = (value_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

inline std::uint64_t DigestOf(std::string_view text) {
  Digest digest;
  digest.Add(std::as_bytes(std::span(text)));
  return digest.value();
}

}  // namespace scorecast::proto
