// CRC-32C against the examples of RFC 3720, and parts against the whole.

#include "shard/checkpoint/crc32c.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::shard {
namespace crc32c_test {

std::uint32_t RemainderOf(std::string_view bytes) {
  return CrcRemainder(0, std::as_bytes(std::span(bytes)));
}

std::uint32_t DirectCrc32c(std::string_view bytes) {
  return Crc32cOfRemainder(RemainderOf(bytes), static_cast<std::int64_t>(bytes.size()));
}

/// One bit after the other, as the standard defines it.
std::uint32_t BitwiseCrc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82F63B78U : crc >> 1;
    }
  }
  return ~crc;
}

std::string RandomBytes(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(size) + 1);
  std::string bytes(size, ' ');
  std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
  return bytes;
}

TEST(Crc32c, IsThatOfTheStandard) {
  EXPECT_EQ(DirectCrc32c(""), 0U);
  EXPECT_EQ(DirectCrc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(DirectCrc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(DirectCrc32c(std::string(32, '\xff')), 0x62A8AB43U);
  std::string rising;
  for (char c = 0; c < 32; ++c) {
    rising += c;
  }
  EXPECT_EQ(DirectCrc32c(rising), 0x46DD794EU);
  for (const std::size_t size : {1U, 7U, 64U, 1000U, 65'537U}) {
    EXPECT_EQ(DirectCrc32c(RandomBytes(size)), BitwiseCrc32c(RandomBytes(size))) << size;
  }
}

TEST(Crc32c, PartsAddUpInAnyOrder) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const std::string bytes = RandomBytes(random() % 3000);
    std::vector<std::size_t> cuts = {0, bytes.size()};
    for (unsigned cut = random() % 6; cut > 0; --cut) {
      cuts.push_back(random() % (bytes.size() + 1));
    }
    std::ranges::sort(cuts);
    std::vector<std::uint32_t> parts;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const std::string_view part = std::string_view(bytes).substr(cuts[i], cuts[i + 1] - cuts[i]);
      parts.push_back(WithZerosBehind(RemainderOf(part),
                                      static_cast<std::int64_t>(bytes.size() - cuts[i + 1])));
    }
    std::ranges::shuffle(parts, random);
    std::uint32_t sum = 0;
    for (const std::uint32_t part : parts) {
      sum ^= part;
    }
    EXPECT_EQ(Crc32cOfRemainder(sum, static_cast<std::int64_t>(bytes.size())), DirectCrc32c(bytes));
  }
}

TEST(Crc32c, ZerosBehindAreThoseOfTheBytes) {
  const std::string bytes = RandomBytes(77);
  for (const std::size_t zeros : {0U, 1U, 2U, 3U, 255U, 4096U, 1'000'001U}) {
    EXPECT_EQ(WithZerosBehind(RemainderOf(bytes), static_cast<std::int64_t>(zeros)),
              RemainderOf(bytes + std::string(zeros, '\0')))
        << zeros;
  }
  // A file of 3 TB, which is more than can be computed byte by byte.
  std::uint32_t remainder = RemainderOf(bytes);
  for (int i = 0; i < 3; ++i) {
    remainder = WithZerosBehind(remainder, std::int64_t{1} << 40);
  }
  EXPECT_EQ(remainder, WithZerosBehind(RemainderOf(bytes), std::int64_t{3} << 40));
}

}  // namespace crc32c_test
}  // namespace scorecast::shard
