#pragma once

#include <cstdint>

#include "proto/model/token_id.h"

namespace scorecast::proto {

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
