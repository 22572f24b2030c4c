#pragma once

#include <limits>
#include <span>
#include <utility>

#include "proto/plan/packed_sequence.h"
#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// Returns the token with the largest sum of logit and proto::GumbelNoise, and that sum. Of equal
/// sums, the one with the smallest id wins. `logits` belong to the ids from `first_id` on; there is
/// at least one, and all are finite. If all sums are below `least`, returns any of them, or the id
/// -1 with the sum -∞.
///
/// The noise of a token takes two logarithms. They are computed only if the token's u is close
/// enough to 1 for it to win.
std::pair<proto::TokenId, double> BestDraw(const Kernels& kernels, const proto::Draw& draw,
                                           std::span<const float> logits, proto::TokenId first_id,
                                           float least = std::numeric_limits<float>::lowest());

/// A value of `least` for further draws if there is already one with this sum: the sum less the
/// rounding errors of a sum and of the noise.
float LeastSum(double sum);

/// Whether draw `a` wins over draw `b`: the larger sum wins; of equal sums, the smaller id wins.
/// NaN wins over every number, so that it is noticed.
bool IsDrawnBefore(const std::pair<proto::TokenId, double>& a,
                   const std::pair<proto::TokenId, double>& b);

}  // namespace scorecast::shard
