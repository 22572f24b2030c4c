#include "proto/plan/gumbel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::proto {
namespace gumbel_test {

using Block = std::array<std::uint32_t, 4>;

// The known answers of Random123 (its kat_vectors).
TEST(Philox, KnownAnswers) {
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(GumbelUniform, IsTheBitsOfTheBlock) {
  const std::uint64_t seed = 0x299f31d0a4093822;
  for (const TokenId id : {0, 3, 15, 16, 31, 32, 150000, 150016}) {
    const auto counter = static_cast<std::uint32_t>(id / 32 * 16 + id % 16);
    const Block block = Philox4x32({counter, 5, 0, 0}, {0xa4093822, 0x299f31d0});
    const std::size_t word = id % 32 < 16 ? 0 : 2;
    const double bits = std::ldexp(block[word], -32) + std::ldexp(block[word + 1], -64);
    const double found = GumbelUniform(seed, 5, id);
    EXPECT_NEAR(found, bits, 0x1p-52) << id;
    EXPECT_EQ(std::fmod(std::ldexp(found, 53), 2), 1) << "the last bit is set";
    EXPECT_EQ(GumbelNoise(seed, 5, id), GumbelOf(found));
  }
}

TEST(GumbelOf, IsFiniteAtBothEnds) {
  EXPECT_NEAR(GumbelOf(0x1p-53), -std::log(53 * std::log(2.0)), 1e-14);
  // -ln(1 - x) = x + x²/2 + …
  EXPECT_NEAR(GumbelOf(1 - 0x1p-53), 53 * std::log(2.0), 1e-13);
}

// The Kolmogorov distance of n samples from their distribution exceeds d with a probability of at
// most 2 exp(-2 n d²): here one in 10⁹.
TEST(GumbelNoise, HasGumbelsDistribution) {
  constexpr int kIds = 50000;
  const double most = std::sqrt(std::log(2e9) / (2 * kIds));
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    for (const std::uint32_t step : {0U, 1U, 1000U}) {
      std::vector<double> noise;
      for (TokenId id = 0; id < kIds; ++id) {
        noise.push_back(GumbelNoise(seed, step, id));
        ASSERT_TRUE(std::isfinite(noise.back()));
      }
      std::sort(noise.begin(), noise.end());
      double distance = 0;
      for (int i = 0; i < kIds; ++i) {
        const double expected = std::exp(-std::exp(-noise[static_cast<std::size_t>(i)]));
        distance = std::max({distance, std::abs(expected - static_cast<double>(i) / kIds),
                             std::abs(expected - static_cast<double>(i + 1) / kIds)});
      }
      EXPECT_LT(distance, most) << "seed " << seed << ", step " << step;
    }
  }
}

// The largest logit + noise is a sample of softmax: chi-square over 8 tokens and 20,000 steps.
TEST(GumbelNoise, DrawsFromSoftmax) {
  const std::vector<double> logits = {0, 1, -1, 2.5, 0.5, -2, 1.5, 0};
  constexpr int kSteps = 20000;
  std::vector<double> count(logits.size());
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    std::size_t best = 0;
    double most = -INFINITY;
    for (std::size_t id = 0; id < logits.size(); ++id) {
      const double sum = logits[id] + GumbelNoise(42, step, static_cast<TokenId>(id));
      if (sum > most) {
        most = sum;
        best = id;
      }
    }
    ++count[best];
  }
  double total = 0;
  for (const double logit : logits) {
    total += std::exp(logit);
  }
  double chi_square = 0;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const double expected = kSteps * std::exp(logits[id]) / total;
    chi_square += (count[id] - expected) * (count[id] - expected) / expected;
  }
  // Seven degrees of freedom; P(χ² > 7 + 2 √(7 t) + 2 t) ≤ exp(-t) (Laurent and Massart, 2000).
  const double t = std::log(1e9);
  EXPECT_LT(chi_square, 7 + 2 * std::sqrt(7 * t) + 2 * t);
}

TEST(GumbelNoise, SeedStepAndIdEachChangeIt) {
  std::set<double> seen;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
    for (const std::uint32_t step : {0U, 1U, 0x80000000U}) {
      for (const TokenId id : {0, 1, 2, 3, 150000}) {
        EXPECT_TRUE(seen.insert(GumbelNoise(seed, step, id)).second);
      }
    }
  }
}

}  // namespace gumbel_test
}  // namespace scorecast::proto
