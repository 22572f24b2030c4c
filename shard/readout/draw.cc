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

/// Tokens that the kernel tests in one call. The first id of a group is a multiple of this.
constexpr TokenId kGroup = 32;

}  // namespace

void DrawBest(const Kernels& kernels, const Draw& draw, std::span<const float> logits,
              TokenId first_id, float least, proto::BestDraws& best) {
  const auto offer = [&](TokenId id) {
    const float logit = logits[static_cast<std::size_t>(id - first_id)];
    if (logit > kNoScore) {
      best.Offer({id, logit, double{logit} + proto::GumbelNoise(draw.seed, draw.step, id)});
    }
  };
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
    std::uint32_t candidates =
        kernels.draw_candidates(of_group, draw.seed, draw.step, static_cast<std::uint32_t>(group),
                                std::max(least, LeastSum(best.least())));
    for (; candidates != 0; candidates &= candidates - 1) {
      const TokenId id = group + std::countr_zero(candidates);
      if (id >= from && id < to) {
        offer(id);
      }
    }
  }
}

float LeastSum(double sum) {
  if (!std::isfinite(sum)) {
    return std::numeric_limits<float>::lowest();
  }
  const double least = sum - std::abs(sum) * 0x1p-50 - 0x1p-30;
  const auto nearest = static_cast<float>(least);
  return nearest > least ? std::nextafter(nearest, std::numeric_limits<float>::lowest()) : nearest;
}

}  // namespace scorecast::shard
