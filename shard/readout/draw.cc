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

void BestDraws::Offer(const proto::DrawnToken& token) {
  std::size_t at = size_;
  while (at > 0 && IsDrawnBefore(token, tokens_[at - 1])) {
    --at;
  }
  if (at == count_) {
    return;
  }
  size_ = std::min(size_ + 1, count_);
  std::shift_right(tokens_.begin() + static_cast<std::ptrdiff_t>(at),
                   tokens_.begin() + static_cast<std::ptrdiff_t>(size_), 1);
  tokens_[at] = token;
}

float BestDraws::least() const {
  const double sum =
      size_ < count_ ? std::numeric_limits<double>::quiet_NaN() : tokens_[size_ - 1].sum;
  return std::isfinite(sum) ? LeastSum(sum) : std::numeric_limits<float>::lowest();
}

void DrawBest(const Kernels& kernels, const Draw& draw, std::span<const float> logits,
              TokenId first_id, float least, BestDraws& best) {
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
                                std::max(least, best.least()));
    for (; candidates != 0; candidates &= candidates - 1) {
      const TokenId id = group + std::countr_zero(candidates);
      if (id >= from && id < to) {
        offer(id);
      }
    }
  }
}

float LeastSum(double sum) {
  const double least = sum - std::abs(sum) * 0x1p-50 - 0x1p-30;
  const auto nearest = static_cast<float>(least);
  return nearest > least ? std::nextafter(nearest, std::numeric_limits<float>::lowest()) : nearest;
}

bool IsDrawnBefore(const proto::DrawnToken& a, const proto::DrawnToken& b) {
  if (std::isnan(a.sum) || std::isnan(b.sum)) {
    return std::isnan(a.sum) && (!std::isnan(b.sum) || a.id < b.id);
  }
  return a.sum != b.sum ? a.sum > b.sum : a.id < b.id;
}

}  // namespace scorecast::shard
