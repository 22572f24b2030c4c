// Draws that skip tokens that cannot win, compared with draws that skip none.

#include "shard/readout/draw.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/plan/gumbel.h"
#include "shard/kernels/kernels.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace draw_test {

using proto::Draw;
using proto::DrawnToken;
using proto::TokenId;
using testing::RandomInt;

std::vector<DrawnToken> DrawOfAll(const Draw& draw, std::span<const float> logits,
                                  TokenId first_id) {
  std::vector<DrawnToken> all;
  TokenId id = first_id;
  for (const float logit : logits) {
    all.push_back({id, logit, logit + proto::GumbelNoise(draw.seed, draw.step, id)});
    ++id;
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.sum > b.sum; });
  all.resize(std::min(all.size(), static_cast<std::size_t>(draw.count)));
  return all;
}

std::vector<DrawnToken> Best(const Kernels& kernels, const Draw& draw,
                             std::span<const float> logits, TokenId first_id,
                             float least = std::numeric_limits<float>::lowest()) {
  proto::BestDraws best(draw.count);
  DrawBest(kernels, draw, logits, first_id, least, best);
  return {best.tokens().begin(), best.tokens().end()};
}

// Flat and steep rows, and logits so large that the noise is lost in them, so that there are ties.
TEST(DrawBest, FindsTheBestOfAll) {
  std::mt19937 random(1);
  for (const KernelSet& set : UsableKernelSets()) {
    const Kernels& kernels = *set.kernels;
    for (const float size : {0.0F, 1.0F, 8.0F, 60.0F, 1e4F, 1e9F, 1e16F, 3e17F, 1e30F, 3e38F}) {
      for (const float shift : {0.0F, 1.0F, -100.0F, 1e16F, -1e17F}) {
        for (std::uint32_t step = 0; step < 60; ++step) {
          std::vector<float> logits =
              testing::RandomFloats(random, RandomInt(random, 1, step % 4 == 0 ? 4000 : 100), size);
          for (float& logit : logits) {
            logit += shift;
          }
          const TokenId first_id = RandomInt(random, 0, 70);
          const Draw draw = {random() * 0x100000001U, step, RandomInt(random, 1, 8)};
          const std::vector<DrawnToken> expected = DrawOfAll(draw, logits, first_id);
          ASSERT_EQ(Best(kernels, draw, logits, first_id), expected) << size << " " << shift;
          // A bound that other tokens set hides no better token.
          const float least = LeastSum(expected.back().sum);
          ASSERT_LE(least, expected.back().sum);
          ASSERT_EQ(Best(kernels, draw, logits, first_id, least), expected) << size;
        }
      }
    }
  }
}

// Every token that can win is a candidate, and hardly any other is.
TEST(DrawCandidates, AreThoseThatCanWin) {
  std::mt19937 random(2);
  for (const KernelSet& set : UsableKernelSets()) {
    const Kernels& kernels = *set.kernels;
    int candidates = 0;
    int winners = 0;
    for (std::uint32_t step = 0; step < 20000; ++step) {
      const std::vector<float> logits = testing::RandomFloats(random, 32, 6);
      const std::uint64_t seed = random() * 0x100000001U;
      const std::uint32_t first_id = 32 * (step % 5000);
      const auto least = static_cast<float>(RandomInt(random, -10, 20));
      const std::uint32_t found =
          kernels.draw_candidates(logits.data(), seed, step, first_id, least);
      for (std::uint32_t i = 0; i < 32; ++i) {
        const auto id = static_cast<TokenId>(first_id + i);
        const double logit = logits[i];
        const bool is_candidate = (found >> i & 1) != 0;
        ASSERT_TRUE(is_candidate || logit + proto::GumbelNoise(seed, step, id) < least);
        candidates += is_candidate ? 1 : 0;
        // By the kernel's bound, 1 - u. The exact one, -ln u, is at most 1 / u times as large.
        winners += 1 - proto::GumbelUniform(seed, step, id) <= std::exp(logit - least) ? 1 : 0;
      }
    }
    EXPECT_GE(candidates, winners);
    // One candidate in a thousand more. Their number scatters by its square root.
    const double more = winners / 1000.0;
    EXPECT_LE(candidates, winners + more + 6 * std::sqrt(more) + 1);
  }
}

}  // namespace draw_test
}  // namespace scorecast::shard
