#include "proto/plan/gumbel.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace scorecast::proto {

double GumbelUniform(std::uint64_t seed, std::uint32_t step, TokenId id) {
  const auto index = static_cast<std::uint32_t>(id);
  const std::array<std::uint32_t, 4> words =
      Philox4x32({index / 32 * 16 + index % 16, step, 0, 0},
                 {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const std::size_t word = index / 16 % 2 * 2;
  const std::uint64_t bits = (std::uint64_t{words[word]} << 32 | words[word + 1]) >> 11;
  return static_cast<double>(bits | 1) * 0x1p-53;
}

double GumbelOf(double uniform) { return -std::log(-std::log(uniform)); }

double GumbelNoise(std::uint64_t seed, std::uint32_t step, TokenId id) {
  return GumbelOf(GumbelUniform(seed, step, id));
}

}  // namespace scorecast::proto
