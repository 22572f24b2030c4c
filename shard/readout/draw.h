#pragma once

#include <span>

#include "proto/plan/best_draws.h"
#include "proto/plan/packed_sequence.h"
#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// Offers the tokens with the largest sums of logit and proto::GumbelNoise. Of equal sums, the one
/// with the smallest id is better. `logits` belong to the ids from `first_id` on; all are finite.
/// Tokens with the logit kNoScore are no tokens. Those whose sums are below `least` may be left
/// out.
///
/// The noise of a token takes two logarithms. They are computed only if the token's u is close
/// enough to 1 for it to be among the best.
void DrawBest(const Kernels& kernels, const proto::Draw& draw, std::span<const float> logits,
              proto::TokenId first_id, float least, proto::BestDraws& best);

/// A value of `least` for further draws if there is already one with this sum: the sum less the
/// rounding errors of a sum and of the noise. The smallest float if the sum is not finite.
float LeastSum(double sum);

}  // namespace scorecast::shard
