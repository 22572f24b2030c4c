#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"
#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// The tokens with the largest sums of those that were offered, the best first.
class BestDraws {
 public:
  /// Keeps up to `count` of them, which is 1 … proto::Draw::kMostTokens.
  explicit BestDraws(std::int32_t count) : count_(static_cast<std::size_t>(count)) {}

  void Offer(const proto::DrawnToken& token);
  std::span<const proto::DrawnToken> tokens() const { return std::span(tokens_).first(size_); }
  /// A token whose sum is below this is not kept. The smallest float unless `count` are kept.
  float least() const;

 private:
  std::size_t count_;
  std::size_t size_ = 0;
  std::array<proto::DrawnToken, proto::Draw::kMostTokens> tokens_;
};

/// Offers the tokens with the largest sums of logit and proto::GumbelNoise. Of equal sums, the one
/// with the smallest id is better. `logits` belong to the ids from `first_id` on; all are finite.
/// Tokens with the logit kNoScore are no tokens. Those whose sums are below `least` may be left
/// out.
///
/// The noise of a token takes two logarithms. They are computed only if the token's u is close
/// enough to 1 for it to be among the best.
void DrawBest(const Kernels& kernels, const proto::Draw& draw, std::span<const float> logits,
              proto::TokenId first_id, float least, BestDraws& best);

/// A value of `least` for further draws if there is already one with this sum: the sum less the
/// rounding errors of a sum and of the noise.
float LeastSum(double sum);

/// Whether draw `a` wins over draw `b`: the larger sum wins; of equal sums, the smaller id wins.
/// NaN wins over every number, so that it is noticed.
bool IsDrawnBefore(const proto::DrawnToken& a, const proto::DrawnToken& b);

}  // namespace scorecast::shard
