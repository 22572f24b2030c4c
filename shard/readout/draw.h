#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "proto/plan/packed_sequence.h"
#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// The token whose logit plus proto::GumbelNoise is the largest, of equal ones the smallest id, and
/// that sum. `logits`, at least one and all finite, belong to the ids from `first_id` on.
///
/// Noise is two logarithms: they are taken only of tokens whose u is so near 1 that they can win.
std::pair<proto::TokenId, double> BestDraw(const Kernels& kernels, const proto::Draw& draw,
                                           std::span<const float> logits, proto::TokenId first_id);

/// Whether a draw counts before another one: what is not a number first, so that it is seen, then
/// by the sum, then the smaller id.
bool IsDrawnBefore(const std::pair<proto::TokenId, double>& a,
                   const std::pair<proto::TokenId, double>& b);

}  // namespace scorecast::shard
