#include "shard/checkpoint/crc32c.h"

#include <algorithm>
#include <array>
#include <limits>

#include <isa-l/crc.h>

namespace scorecast::shard {
namespace {

// Polynomials over GF(2), modulo the one of CRC-32C. Bit 31 is the coefficient of x^0, because the
// checksum takes the bits of a byte from the lowest on.
constexpr std::uint32_t kPolynomial = 0x82F63B78;
constexpr std::uint32_t kOne = 1U << 31;

constexpr std::uint32_t TimesX(std::uint32_t a) {
  return (a & 1) != 0 ? (a >> 1) ^ kPolynomial : a >> 1;
}

constexpr std::uint32_t Product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1, b = TimesX(b)) {
    if ((a & kOne) != 0) {
      product ^= b;
    }
  }
  return product;
}

/// Element i is x^(8 · 2^i): 2^i bytes of zeros.
constexpr auto kZeros = [] {
  std::array<std::uint32_t, 63> powers{};
  powers[0] = kOne >> 8;
  for (std::size_t i = 1; i < powers.size(); ++i) {
    powers[i] = Product(powers[i - 1], powers[i - 1]);
  }
  return powers;
}();

}  // namespace

std::uint32_t CrcRemainder(std::uint32_t before, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto now = std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max());
    // The library only reads, although its parameter is not const.
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    before = crc32_iscsi(data, static_cast<int>(now), before);
    bytes = bytes.subspan(now);
  }
  return before;
}

std::uint32_t WithZerosBehind(std::uint32_t remainder, std::int64_t zeros) {
  auto left = static_cast<std::uint64_t>(zeros);
  for (std::size_t i = 0; left != 0; ++i, left >>= 1) {
    if ((left & 1) != 0) {
      remainder = Product(kZeros[i], remainder);
    }
  }
  return remainder;
}

std::uint32_t Crc32cOfRemainder(std::uint32_t remainder, std::int64_t size) {
  // The first 32 bits are inverted, and so is the result.
  return ~(remainder ^ WithZerosBehind(~0U, size));
}

}  // namespace scorecast::shard
