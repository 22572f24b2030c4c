#include "coordinator/generate/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/plan/gumbel.h"
#include "tests/coordinator/generate/chi_square.h"
#include "tests/proto/plan/row_reads.h"

namespace scorecast::coordinator {
namespace token_sampler_test {

using Logits = std::vector<float>;

std::int64_t SizeOf(const Logits& logits) { return static_cast<std::int64_t>(logits.size()); }

TokenId Choose(TokenSampler& sampler, const Logits& logits, std::uint32_t step = 0) {
  for (;;) {
    const proto::RowRead read = sampler.Wanted(step);
    if (const auto token = sampler.Take(proto::ReadRow(logits, read), step)) {
      return *token;
    }
    EXPECT_NE(sampler.Wanted(step), read) << "more is read";
  }
}

TokenId Choose(const SamplingOptions& options, const Logits& logits, std::uint32_t step = 0) {
  TokenSampler sampler(options, SizeOf(logits));
  return Choose(sampler, logits, step);
}

/// The tokens that the options keep, and the weight of each, computed from the definitions.
std::vector<std::pair<TokenId, double>> Candidates(const SamplingOptions& options,
                                                   const Logits& logits) {
  std::vector<std::pair<TokenId, double>> tokens;
  const auto temperature = static_cast<float>(options.temperature);
  const float max = *std::max_element(logits.begin(), logits.end()) / temperature;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    tokens.emplace_back(static_cast<TokenId>(i), std::exp(double{logits[i] / temperature} - max));
  }
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) {
    return a.second > b.second || (a.second == b.second && a.first < b.first);
  });
  if (options.top_k > 0 && options.top_k < SizeOf(logits)) {
    tokens.resize(options.top_k);
  }
  if (options.top_p < 1) {
    double total = 0;
    for (const auto& [id, weight] : tokens) {
      total += weight;
    }
    double mass = 0;
    std::size_t size = 0;
    while (size < tokens.size() && mass < options.top_p * total) {
      mass += tokens[size++].second;
    }
    tokens.resize(size);
  }
  return tokens;
}

/// The candidate with the largest logit plus noise.
TokenId Expected(const SamplingOptions& options, const Logits& logits, std::uint32_t step) {
  std::pair<double, TokenId> best = {-INFINITY, -1};
  for (const auto& [id, weight] : Candidates(options, logits)) {
    const double value = logits[id] / static_cast<float>(options.temperature) +
                         proto::GumbelNoise(options.seed.value(), step, id);
    best = std::max(best, {value, id});
  }
  return best.second;
}

Logits RandomLogits(std::int64_t size, float spread, std::mt19937& random) {
  std::normal_distribution<float> normal(0, spread);
  Logits logits(size);
  for (float& logit : logits) {
    logit = normal(random);
  }
  return logits;
}

TEST(TokenSampler, GreedyTakesTheSmallestOfTheBest) {
  const SamplingOptions greedy = {.temperature = 0, .top_p = 0.5, .top_k = 3, .seed = 5};
  EXPECT_EQ(Choose(greedy, {1, 4, -2, 4, 4, 0}), 1);
  EXPECT_EQ(Choose(greedy, {-7}), 0);
  const TokenSampler sampler(greedy, 100);
  EXPECT_EQ(sampler.Wanted(3).top_k, 1);
  EXPECT_EQ(sampler.Wanted(3).temperature, 1);
  EXPECT_TRUE(sampler.Wanted(3).normalizer);
  EXPECT_FALSE(sampler.Wanted(3).draw);
}

TEST(TokenSampler, LeavesTheDrawToTheRanksIfAllTokensAreCandidates) {
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = 0.7, .seed = 9},
        {.temperature = 0.7, .top_k = 50, .seed = 9},
        {.temperature = 0.7, .top_p = 2, .top_k = 51, .seed = 9}}) {
    TokenSampler sampler(options, 50);
    const proto::RowRead read = sampler.Wanted(4);
    EXPECT_EQ(read.top_k, 0);
    EXPECT_TRUE(read.normalizer);
    EXPECT_EQ(read.temperature, 0.7f);
    EXPECT_EQ(read.draw, (proto::Draw{9, 4}));
    proto::RowLogits row;
    row.drawn = {{17, 3.25, 3.5}};
    EXPECT_EQ(sampler.Take(row, 4), 17);
  }
}

TEST(TokenSampler, ReadsOnlyTheBestIfTheyAreEnough) {
  const TokenSampler sampler({.temperature = 2, .top_p = 0.5, .top_k = 30, .seed = 0}, 1000);
  EXPECT_EQ(sampler.Wanted(0).top_k, 30);
  EXPECT_EQ(sampler.Wanted(0).temperature, 2);
  EXPECT_FALSE(sampler.Wanted(0).draw);
  EXPECT_EQ(
      TokenSampler({.temperature = 1, .top_p = 0.5, .top_k = 20, .seed = 0}, 20).Wanted(0).top_k,
      0);
}

TEST(TokenSampler, ReadsDrawsAndMassesOfANucleus) {
  const proto::Draw draw = {.seed = 0, .step = 2, .count = proto::Draw::kMostTokens};
  for (const double top_p : {0.95, 0.5, 0.4}) {
    const TokenSampler sampler({.temperature = 1, .top_p = top_p, .seed = 0}, 1000);
    EXPECT_EQ(sampler.Wanted(2).draw, draw);
    EXPECT_EQ(sampler.Wanted(2).bin_width, 0x1p-4F);
    EXPECT_TRUE(sampler.Wanted(2).masses.places.empty());
    EXPECT_EQ(sampler.Wanted(2).top_k, top_p < 0.5 ? 64 : 0);
  }
  EXPECT_EQ(TokenSampler({.temperature = 1, .top_p = 0.4, .seed = 0}, 20).Wanted(0).top_k, 20);
  // The maximum is enough for min_p.
  const TokenSampler by_maximum({.temperature = 1, .min_p = 0.1, .seed = 0}, 1000);
  EXPECT_EQ(by_maximum.Wanted(2).draw, draw);
  EXPECT_EQ(by_maximum.Wanted(2).bin_width, 0);
}

// Each token must be the one that the definitions choose from the whole row, however much was read
// before.
TEST(TokenSampler, ChoosesTheTokenThatTheWholeRowGives) {
  std::mt19937 random(31);
  int restricted = 0;
  for (int round = 0; round < 150; ++round) {
    const std::int64_t vocab = 1 + random() % 3000;
    SamplingOptions options = {.temperature = 0.2 + 0.01 * (random() % 200), .seed = random()};
    if (random() % 2 == 0) {
      options.top_k = 1 + random() % vocab;
    }
    if (random() % 3 != 0) {
      options.top_p = 1e-3 * (1 + random() % 1000);
    }
    TokenSampler sampler(options, vocab);
    for (std::uint32_t step = 0; step < 6; ++step) {
      const Logits logits = RandomLogits(vocab, 0.1f + 0.5f * (random() % 8), random);
      const TokenId expected = Expected(options, logits, step);
      ASSERT_EQ(Choose(sampler, logits, step), expected)
          << "vocabulary " << vocab << ", temperature " << options.temperature << ", top_k "
          << options.top_k << ", top_p " << options.top_p << ", step " << step;
      restricted += expected != Expected({.temperature = options.temperature, .seed = options.seed},
                                         logits, step);
    }
  }
  EXPECT_GT(restricted, 100);
}

// All tokens are in one bin, which says nothing of them.
TEST(TokenSampler, OneMoreReadTellsWhatTheBinsDoNot) {
  const Logits flat(5000, 1.5f);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SamplingOptions options = {.temperature = 1, .top_p = 0.75, .seed = seed};
    TokenSampler sampler(options, SizeOf(flat));
    const proto::RowRead first = sampler.Wanted(0);
    EXPECT_FALSE(sampler.Take(proto::ReadRow(flat, first), 0));
    const proto::RowRead second = sampler.Wanted(0);
    EXPECT_EQ(second.bin_width, 0);
    EXPECT_FALSE(second.masses.places.empty());
    // Among tokens with equal logits, those with the smaller ids are kept.
    EXPECT_EQ(sampler.Take(proto::ReadRow(flat, second), 0), Expected(options, flat, 0));
    // The next row begins anew, with narrower bins.
    proto::RowRead next = first;
    next.bin_width /= 128;
    EXPECT_EQ(sampler.Wanted(0), next);
  }
}

TEST(TokenSampler, ExtremesLeaveTheBestOrAll) {
  std::mt19937 random(33);
  for (std::uint32_t step = 0; step < 200; ++step) {
    const Logits logits = RandomLogits(300, 1, random);
    const auto best =
        static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    EXPECT_EQ(Choose({.temperature = 1.5, .top_p = 1e-300, .seed = 0}, logits, step), best);
    EXPECT_EQ(Choose({.temperature = 1.5, .top_p = 0, .seed = 0}, logits, step), best);
    EXPECT_EQ(Choose({.temperature = 1.5, .top_k = 1, .seed = 0}, logits, step), best);
    EXPECT_EQ(Choose({.temperature = 0.0099}, logits, step), best);
    EXPECT_EQ(Choose({.temperature = 1e-300}, logits, step), best);
    // A top_k of the whole vocabulary or more keeps all tokens.
    EXPECT_EQ(Choose({.temperature = 0.9, .top_k = 300, .seed = 8}, logits, step),
              Choose({.temperature = 0.9, .seed = 8}, logits, step));
    EXPECT_EQ(Choose({.temperature = 0.9, .top_k = INT64_MAX, .seed = 8}, logits, step),
              Choose({.temperature = 0.9, .seed = 8}, logits, step));
  }
  EXPECT_EQ(Choose({.temperature = 1, .top_p = 0.3, .seed = 0}, {2}), 0);
}

/// Compares draws with `options` with the exact distribution.
void ExpectDistribution(const SamplingOptions& options, const Logits& logits, bool by_seed,
                        int draws = 30'000) {
  std::vector<int> counts(logits.size());
  TokenSampler sampler(options, SizeOf(logits));
  for (int i = 0; i < draws; ++i) {
    SamplingOptions seeded = options;
    *seeded.seed += by_seed ? i : 0;
    ++counts[by_seed ? Choose(seeded, logits) : Choose(sampler, logits, i)];
  }
  const auto candidates = Candidates(options, logits);
  ASSERT_GT(candidates.size(), 1u);
  double total = 0;
  for (const auto& [id, weight] : candidates) {
    total += weight;
  }
  std::vector<double> probabilities(logits.size());
  for (const auto& [id, weight] : candidates) {
    ASSERT_GE(draws * weight / total, 5) << "too rare for the test";
    probabilities[id] = weight / total;
  }
  ExpectDrawnFrom(probabilities, counts);
}

TEST(TokenSampler, DrawsFromTheExactDistribution) {
  std::mt19937 random(34);
  const Logits logits = RandomLogits(40, 1, random);
  for (const bool by_seed : {false, true}) {
    for (const SamplingOptions& options :
         {SamplingOptions{.temperature = 1, .seed = 1},
          {.temperature = 0.8, .seed = 2},
          {.temperature = 3, .seed = 3},
          {.temperature = 1, .top_k = 7, .seed = 4},
          {.temperature = 1, .top_p = 0.8, .seed = 5},
          {.temperature = 1.3, .top_p = 0.6, .top_k = 12, .seed = 6}}) {
      SCOPED_TRACE(*options.seed);
      ExpectDistribution(options, logits, by_seed);
    }
  }
}

TEST(TokenSampler, DrawsFromTheExactDistributionOfALargerRow) {
  const Logits logits(700, 0.25f);
  ExpectDistribution({.temperature = 1, .top_p = 0.3, .seed = 7}, logits, false, 6000);
}

}  // namespace token_sampler_test
}  // namespace scorecast::coordinator
