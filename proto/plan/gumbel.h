#pragma once

#include <array>
#include <cstdint>

#include "proto/model/token_id.h"

namespace scorecast::proto {

/// The constants of Philox4x32, for code that computes many blocks at once.
inline constexpr int kPhiloxRounds = 10;
inline constexpr std::array<std::uint32_t, 2> kPhiloxFactors = {0xD2511F53, 0xCD9E8D57};
inline constexpr std::array<std::uint32_t, 2> kPhiloxKeySteps = {0x9E3779B9, 0xBB67AE85};

/// One block of Philox4x32-10, the counter-based generator of Salmon et al. (SC 2011). The same key
/// and counter give the same block on every machine; different counters give independent blocks.
constexpr std::array<std::uint32_t, 4> Philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kPhiloxFactors[0]} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kPhiloxFactors[1]} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key = {key[0] + kPhiloxKeySteps[0], key[1] + kPhiloxKeySteps[1]};
  }
  return counter;
}

/// Standard Gumbel noise for a token: -ln(-ln u), where u in (0, 1) comes from Philox4x32-10, a
/// counter-based generator (Salmon et al., SC 2011), with the seed as key and (step, id) as
/// counter. The token with the largest logit + noise is a sample of softmax(logits), whichever rank
/// computes the noise.
double GumbelNoise(std::uint64_t seed, std::uint32_t step, TokenId id);

/// The u of a token. 32 ids share 16 blocks of the generator: the ids 32 g + i and 32 g + 16 + i,
/// with i below 16, share the block of counter (16 g + i, step, 0, 0) with the seed as key, low
/// word first. The former id takes words 0 and 1 of the block, the latter 2 and 3, high word first.
/// Of these 64 bits, u is the first 53, with the last one set, times 2⁻⁵³; so u is never 0 and
/// never 1.
double GumbelUniform(std::uint64_t seed, std::uint32_t step, TokenId id);

/// The noise for one u.
double GumbelOf(double uniform);

}  // namespace scorecast::proto
