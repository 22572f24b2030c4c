#pragma once

#include <cstdint>

#include "proto/model/model_config.h"

namespace scorecast::proto {

/// Standard Gumbel noise for a token: -ln(-ln u), where u, in (0, 1), comes from a counter-based
/// generator, Philox4x32-10 (Salmon et al., SC 2011), keyed by the seed and counted by (step, id).
/// The argument of the largest logit + noise is a sample of softmax(logits), whoever computes it.
double GumbelNoise(std::uint64_t seed, std::uint32_t step, TokenId id);

/// The u of a token. 32 ids share 16 blocks of the generator: ids 32 g + i and 32 g + 16 + i, with
/// i below 16, that of counter (16 g + i, step, 0, 0) under the seed as key, low word first. The
/// former takes the block's words 0 and 1, the latter 2 and 3, high word first. The first 53 of
/// these 64 bits, the last of them set, are a multiple of 2⁻⁵³: never 0, never 1.
double GumbelUniform(std::uint64_t seed, std::uint32_t step, TokenId id);

/// The noise of a u.
double GumbelOf(double uniform);

}  // namespace scorecast::proto
