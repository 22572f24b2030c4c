#include "shard/readout/draw.h"

#include <algorithm>
#include <array>
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
  Best(const Draw& draw, std::span<const float> logits, TokenId first_id, float least)
      : draw_(draw), logits_(logits), first_id_(first_id), least_(least) {}

  void Offer(TokenId id) {
    const double logit = logits_[static_cast<std::size_t>(id - first_id_)];
    const std::pair<TokenId, double> drawn = {
        id, logit + proto::GumbelNoise(draw_.seed, draw_.step, id)};
    if (IsDrawnBefore(drawn, drawn_)) {
      drawn_ = drawn;
      least_ = std::max(least_, LeastSum(drawn.second));
    }
  }

  /// A token whose sum is below this cannot be the best.
  float least() const { return least_; }
  std::pair<TokenId, double> drawn() const { return drawn_; }

 private:
  const Draw& draw_;
  std::span<const float> logits_;
  TokenId first_id_;
  std::pair<TokenId, double> drawn_ = {-1, -std::numeric_limits<double>::infinity()};
  float least_;
};

/// Tokens that the kernel tests in one call. The first id of a group is a multiple of this.
constexpr TokenId kGroup = 32;

}  // namespace

std::pair<TokenId, double> BestDraw(const Kernels& kernels, const Draw& draw,
                                    std::span<const float> logits, TokenId first_id, float least) {
  Best best(draw, logits, first_id, least);
  if (least == std::numeric_limits<float>::lowest()) {
    // The token with the largest logit is a good first candidate.
    best.Offer(first_id + static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
  }
  const TokenId end = first_id + static_cast<TokenId>(logits.size());
  for (TokenId group = first_id / kGroup * kGroup; group < end; group += kGroup) {
    // The ids of the group that belong to `logits`.
    const TokenId from = std::max(group, first_id);
    const TokenId to = std::min(group + kGroup, end);
    const float* of_group = logits.data() + (from - first_id);
    std::array<float, kGroup> padded = {};
    if (to - from < kGroup) {
      std::copy_n(of_group, to - from, padded.begin() + (from - group));
      of_group = padded.data();
    }
    std::uint32_t candidates = kernels.draw_candidates(
        of_group, draw.seed, draw.step, static_cast<std::uint32_t>(group), best.least());
    for (; candidates != 0; candidates &= candidates - 1) {
      const TokenId id = group + std::countr_zero(candidates);
      if (id >= from && id < to) {
        best.Offer(id);
      }
    }
  }
  return best.drawn();
}

float LeastSum(double sum) {
  const double least = sum - std::abs(sum) * 0x1p-50 - 0x1p-30;
  const auto nearest = static_cast<float>(least);
  return nearest > least ? std::nextafter(nearest, std::numeric_limits<float>::lowest()) : nearest;
}

bool IsDrawnBefore(const std::pair<TokenId, double>& a, const std::pair<TokenId, double>& b) {
  if (std::isnan(a.second) || std::isnan(b.second)) {
    return std::isnan(a.second) && (!std::isnan(b.second) || a.first < b.first);
  }
  return a.second != b.second ? a.second > b.second : a.first < b.first;
}

}  // namespace scorecast::shard
