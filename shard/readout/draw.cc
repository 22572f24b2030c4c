#include "shard/readout/draw.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "proto/plan/gumbel.h"

namespace scorecast::shard {
namespace {

using proto::Draw;
using proto::TokenId;

/// The best draw so far.
class Best {
 public:
  Best(const Draw& draw, std::span<const float> logits, TokenId first_id)
      : draw_(draw), logits_(logits), first_id_(first_id) {}

  void Offer(TokenId id) {
    const double logit = logits_[static_cast<std::size_t>(id - first_id_)];
    const std::pair<TokenId, double> drawn = {
        id, logit + proto::GumbelNoise(draw_.seed, draw_.step, id)};
    if (IsDrawnBefore(drawn, drawn_)) {
      drawn_ = drawn;
      // Below the best sum by more than the rounding errors of a sum and of the noise.
      least_ = RoundDown(drawn.second - std::abs(drawn.second) * 0x1p-50 - 0x1p-30);
    }
  }

  /// A sum below this cannot be the best.
  float least() const { return least_; }
  std::pair<TokenId, double> drawn() const { return drawn_; }

 private:
  static float RoundDown(double x) {
    const auto nearest = static_cast<float>(x);
    return nearest > x ? std::nextafter(nearest, std::numeric_limits<float>::lowest()) : nearest;
  }

  const Draw& draw_;
  std::span<const float> logits_;
  TokenId first_id_;
  std::pair<TokenId, double> drawn_ = {-1, -std::numeric_limits<double>::infinity()};
  float least_ = std::numeric_limits<float>::lowest();
};

/// Tokens that the kernel tests in one call.
constexpr TokenId kGroup = 32;

}  // namespace

std::pair<TokenId, double> BestDraw(const Kernels& kernels, const Draw& draw,
                                    std::span<const float> logits, TokenId first_id) {
  Best best(draw, logits, first_id);
  // The token with the largest logit is a good first candidate.
  best.Offer(first_id + static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
  const TokenId end = first_id + static_cast<TokenId>(logits.size());
  for (TokenId id = first_id; id < end;) {
    if (id % kGroup != 0 || end - id < kGroup) {
      best.Offer(id);
      ++id;
      continue;
    }
    std::uint32_t candidates =
        kernels.draw_candidates(logits.data() + (id - first_id), draw.seed, draw.step,
                                static_cast<std::uint32_t>(id), best.least());
    for (; candidates != 0; candidates &= candidates - 1) {
      best.Offer(id + std::countr_zero(candidates));
    }
    id += kGroup;
  }
  return best.drawn();
}

bool IsDrawnBefore(const std::pair<TokenId, double>& a, const std::pair<TokenId, double>& b) {
  if (std::isnan(a.second) || std::isnan(b.second)) {
    return std::isnan(a.second) && (!std::isnan(b.second) || a.first < b.first);
  }
  return a.second != b.second ? a.second > b.second : a.first < b.first;
}

}  // namespace scorecast::shard
