// Tokens of a nucleus, compared with what the definitions give for the whole row.

#include "coordinator/generate/nucleus_draw.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/plan/gumbel.h"
#include "tests/proto/plan/row_reads.h"

namespace scorecast::coordinator {
namespace nucleus_draw_test {

/// A row, some of whose tokens are adjusted.
struct Row {
  std::vector<float> logits;         ///< Divided by the temperature.
  proto::LabelList labels;           ///< The adjusted tokens, sorted.
  std::vector<TokenLogit> adjusted;  ///< Some of these, with any logits.
  bool has_others = true;

  std::vector<TokenLogit> Tokens() const {
    std::vector<TokenLogit> tokens = adjusted;
    for (std::size_t i = 0; has_others && i < logits.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      if (!std::ranges::binary_search(labels, id)) {
        tokens.emplace_back(id, logits[i]);
      }
    }
    return tokens;
  }
};

/// The token with the largest sum among those that are kept: sorted, and added up one by one.
TokenId Expected(const SamplingOptions& options, const Row& row, std::uint32_t step) {
  std::vector<TokenLogit> tokens = row.Tokens();
  std::ranges::sort(tokens, &IsBetterToken);
  const double max = tokens.front().second;
  if (options.min_p > 0) {
    std::erase_if(tokens, [&](const TokenLogit& token) {
      return token.second < max + std::log(options.min_p);
    });
  }
  double total = 0;
  for (const auto& [id, logit] : tokens) {
    total += std::exp(logit - max);
  }
  std::pair<double, TokenId> best = {-INFINITY, 0};
  double before = 0;
  for (const auto& [id, logit] : tokens) {
    if (options.top_p < 1 && before > 0 && before >= options.top_p * total) {
      break;
    }
    best = std::max(best, {logit + proto::GumbelNoise(*options.seed, step, id), -id});
    before += std::exp(logit - max);
  }
  return -best.second;
}

struct Drawn {
  TokenId token = 0;
  int reads = 0;
};

/// `bin_width`: of the first read; then that for the next row.
Drawn Draw(const SamplingOptions& options, const Row& row, std::uint32_t step, float& bin_width) {
  NucleusDraw draw(options, step, bin_width);
  for (Drawn drawn;;) {
    proto::RowRead read = {.normalizer = true, .excludes_labels = !row.labels.empty()};
    draw.Ask(read);
    const proto::RowLogits result = proto::ReadRow(row.logits, read, row.labels);
    EXPECT_LE(read.masses.places.size(), proto::PlaceMasses::kMostPlaces);
    ++drawn.reads;
    if (const auto token = draw.Take(result, row.adjusted, row.has_others)) {
      drawn.token = *token;
      bin_width = draw.NextBinWidth();
      return drawn;
    }
    EXPECT_LT(drawn.reads, 40) << "each read tells more";
    if (drawn.reads >= 40) {
      return drawn;
    }
  }
}

class NucleusDrawTest : public ::testing::Test {
 protected:
  int Pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  Row RandomRow(std::size_t vocab, float spread, float step) {
    Row row;
    std::normal_distribution<float> normal(0, spread);
    for (std::size_t i = 0; i < vocab; ++i) {
      const float logit = normal(random_);
      row.logits.push_back(step > 0 ? std::round(logit / step) * step : logit);
    }
    return row;
  }

  void Adjust(Row& row, int one_in, float spread) {
    std::normal_distribution<double> normal(0, spread);
    std::vector<TokenId> labels;
    for (std::size_t i = 0; i < row.logits.size(); ++i) {
      if (Pick(1, one_in) == 1) {
        labels.push_back(static_cast<TokenId>(i));
        if (Pick(0, 5) > 0) {
          row.adjusted.emplace_back(static_cast<TokenId>(i), row.logits[i] + normal(random_));
        }
      }
    }
    if (!labels.empty()) {
      row.labels = std::move(labels);
    }
    row.has_others = Pick(0, 5) > 0 || row.adjusted.empty();
    if (row.has_others && row.labels.size() == row.logits.size() && row.adjusted.empty()) {
      row.labels = {};
    }
  }

  std::mt19937_64 random_{7};
};

// Flat rows and steep ones, ties, any cut, and any tokens that are adjusted or forbidden.
TEST_F(NucleusDrawTest, GivesTheTokenOfTheWholeRow) {
  int read_again = 0;
  int restricted = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto vocab = static_cast<std::size_t>(Pick(1, round % 8 == 0 ? 800 : 60));
    const float spread = std::exp2(static_cast<float>(Pick(-8, 4)));
    SamplingOptions options = {.temperature = std::exp2(Pick(-6, 7)), .seed = random_()};
    options.top_p = Pick(0, 4) == 0   ? 1
                    : Pick(0, 1) == 0 ? Pick(1, 999) * 1e-3
                                      : 1 - Pick(1, 99) * 1e-4;
    options.min_p = Pick(0, 2) == 0 ? Pick(1, 100) * 0.01 : 0;
    Row row = RandomRow(vocab, spread, Pick(0, 2) == 0 ? spread / 2 : 0);
    if (Pick(0, 1) == 0) {
      Adjust(row, Pick(1, 4), spread);
    }
    float bin_width = std::exp2(static_cast<float>(Pick(-14, -4)));
    for (std::uint32_t step = 0; step < 4; ++step) {
      SCOPED_TRACE("round " + std::to_string(round) + ", step " + std::to_string(step) +
                   ", vocabulary " + std::to_string(vocab) + ", spread " + std::to_string(spread) +
                   ", top_p " + std::to_string(options.top_p) + ", min_p " +
                   std::to_string(options.min_p));
      const Drawn drawn = Draw(options, row, step, bin_width);
      ASSERT_EQ(drawn.token, Expected(options, row, step));
      read_again += drawn.reads > 1 ? 1 : 0;
      restricted += drawn.token != Expected({.temperature = 1, .seed = options.seed}, row, step);
    }
  }
  EXPECT_GT(read_again, 200);
  EXPECT_GT(restricted, 200);
}

// Of a large vocabulary, the first read nearly always tells, as soon as the bins have the width of
// the rows: however flat or steep these are.
TEST_F(NucleusDrawTest, MostRowsAreReadOnce) {
  constexpr int kSteps = 40;
  for (const float spread : {0.01F, 1.0F, 6.0F}) {
    const Row row = RandomRow(20'000, spread, 0);
    float bin_width = NucleusDraw::FirstBinWidth(1);
    int reads = 0;
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      const SamplingOptions options = {.temperature = 1, .top_p = 0.95, .seed = 5};
      const Drawn drawn = Draw(options, row, step, bin_width);
      EXPECT_EQ(drawn.token, Expected(options, row, step));
      reads += drawn.reads;
    }
    // The first two rows may be read again, and one of a hundred others.
    EXPECT_LE(reads, kSteps + 2 + 3) << spread;
  }
}

TEST_F(NucleusDrawTest, LogitsBeyondTheBinsAreReadAgain) {
  for (const float size : {1e8F, -1e8F, 3e30F}) {
    Row row;
    for (int i = 0; i < 100; ++i) {
      row.logits.push_back(size + static_cast<float>(i % 7) * std::abs(size) * 1e-6F);
    }
    const SamplingOptions options = {.temperature = 1, .top_p = 0.5, .seed = 4};
    for (std::uint32_t step = 0; step < 20; ++step) {
      float bin_width = 0x1p-4F;
      EXPECT_EQ(Draw(options, row, step, bin_width).token, Expected(options, row, step)) << size;
    }
  }
}

TEST(DrawBest, AreTheLargestSums) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, 3);
  for (std::uint32_t step = 0; step < 300; ++step) {
    std::vector<TokenLogit> tokens;
    for (std::size_t i = 0; i < random() % 300; ++i) {
      tokens.emplace_back(static_cast<TokenId>(i), normal(random));
    }
    std::optional<TokenLogit> end;
    if (step % 3 == 0) {
      end = {7, 0.5};
    }
    std::vector<std::pair<double, TokenId>> sums;
    for (const TokenLogit& token : tokens) {
      if (!end || IsBetterToken(token, *end)) {
        sums.emplace_back(-(token.second + proto::GumbelNoise(9, step, token.first)), token.first);
      }
    }
    std::ranges::sort(sums);
    const auto count = static_cast<std::int32_t>(1 + step % 8);
    const proto::BestDraws best = DrawBest(tokens, 9, step, count, end);
    ASSERT_EQ(best.tokens().size(), std::min<std::size_t>(sums.size(), 1 + step % 8));
    for (std::size_t i = 0; i < best.tokens().size(); ++i) {
      EXPECT_EQ(best.tokens()[i].id, sums[i].second);
      EXPECT_EQ(best.tokens()[i].sum, -sums[i].first);
    }
  }
}

}  // namespace nucleus_draw_test
}  // namespace scorecast::coordinator
