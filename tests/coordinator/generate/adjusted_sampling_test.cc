// Tokens chosen with penalties, bias and forbidden tokens, compared with transformers' logits
// processors (tests/golden/make/sampling.py) and with the definitions applied to whole rows.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/generate/token_adjustments.h"
#include "coordinator/generate/token_sampler.h"
#include "proto/plan/gumbel.h"
#include "tests/coordinator/generate/chi_square.h"
#include "tests/proto/plan/row_reads.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace adjusted_sampling_test {

using Ids = std::vector<TokenId>;
using Logits = std::vector<float>;

constexpr double kForbidden = -std::numeric_limits<double>::infinity();

/// How the next token of a completion is chosen, and after what.
struct Case {
  SamplingOptions sampling;
  AdjustmentOptions adjustment;
  Ids prompt;
  Ids generated;
};

proto::LabelList Sorted(Ids ids) {
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids.empty() ? proto::LabelList() : proto::LabelList(std::move(ids));
}

bool Has(const Ids& ids, TokenId id) { return std::ranges::find(ids, id) != ids.end(); }

/// The logits of all tokens, divided by the temperature, with all adjustments.
std::vector<double> AdjustedRow(const Case& sample, const Logits& logits) {
  const AdjustmentOptions& options = sample.adjustment;
  const float temperature =
      sample.sampling.is_greedy() ? 1 : static_cast<float>(sample.sampling.temperature);
  const bool only_allowed = !options.allowed.empty();
  std::vector<double> row;
  for (const float logit : logits) {
    // The ranks divide in float32.
    row.push_back(only_allowed ? double{logit} / temperature : logit / temperature);
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    bool is_forbidden = only_allowed && !Has(options.allowed.ids(), id);
    for (const Ids& word : options.bad_words) {
      const std::size_t before = word.size() - 1;
      is_forbidden = is_forbidden ||
                     (word.back() == id && before <= sample.generated.size() &&
                      std::equal(word.begin(), word.end() - 1, sample.generated.end() - before));
    }
    is_forbidden = is_forbidden || (std::cmp_less(sample.generated.size(), options.min_tokens) &&
                                    Has(options.end_ids, id));
    for (const auto& [biased, bias] : options.logit_bias) {
      row[i] += biased == id ? bias / temperature : 0;
    }
    if (options.repetition_penalty != 1 && (Has(sample.prompt, id) || Has(sample.generated, id))) {
      row[i] =
          row[i] > 0 ? row[i] / options.repetition_penalty : row[i] * options.repetition_penalty;
    }
    const auto count = std::ranges::count(sample.generated, id);
    row[i] -= (options.frequency_penalty * static_cast<double>(count) +
               (count > 0 ? options.presence_penalty : 0)) /
              temperature;
    row[i] = is_forbidden ? kForbidden : row[i];
  }
  return row;
}

/// The probabilities of all tokens, computed from the definitions.
std::vector<double> Distribution(const Case& sample, const Logits& logits) {
  const SamplingOptions& options = sample.sampling;
  std::vector<std::pair<double, TokenId>> tokens;  // The best first.
  const std::vector<double> row = AdjustedRow(sample, logits);
  for (std::size_t i = 0; i < row.size(); ++i) {
    tokens.emplace_back(-row[i], static_cast<TokenId>(i));
  }
  std::ranges::sort(tokens);
  const double best = tokens.front().first;
  std::vector<double> weights;
  for (const auto& [negative, id] : tokens) {
    const double weight = std::exp(best - negative);
    weights.push_back(weight >= options.min_p ? weight : 0);
  }
  if (options.top_k > 0 && std::cmp_less(options.top_k, weights.size())) {
    std::fill(weights.begin() + options.top_k, weights.end(), 0);
  }
  double total = 0;
  for (const double weight : weights) {
    total += weight;
  }
  double mass = 0;
  for (double& weight : weights) {
    const double own = weight;
    weight = options.top_p < 1 && mass >= options.top_p * total ? 0 : weight;
    mass += own;
  }
  total = 0;
  for (const double weight : weights) {
    total += weight;
  }
  std::vector<double> probabilities(row.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    probabilities[static_cast<std::size_t>(tokens[i].second)] = weights[i] / total;
  }
  return probabilities;
}

TokenSampler SamplerOf(const Case& sample, std::int64_t vocab_size) {
  TokenAdjustments adjustments(sample.adjustment);
  if (sample.adjustment.reads_prompt()) {
    adjustments = adjustments.WithPrompt(Sorted(sample.prompt));
  }
  for (const TokenId token : sample.generated) {
    adjustments.Add(token);
  }
  return {sample.sampling, vocab_size, std::move(adjustments)};
}

TokenId Choose(TokenSampler sampler, const Logits& logits, std::uint32_t step) {
  for (;;) {
    const proto::RowRead read = sampler.Wanted(step);
    const proto::LabelList labels = sampler.Labels();
    EXPECT_TRUE(std::ranges::is_sorted(labels));
    if (const auto token = sampler.Take(proto::ReadRow(logits, read, labels), step)) {
      return *token;
    }
    EXPECT_NE(sampler.Wanted(step), read) << "more is read";
  }
}

struct Golden {
  Case sample;
  Logits logits;
  TokenId greedy = 0;
  std::vector<double> probabilities;
};

std::vector<Golden> ReadGoldens() {
  std::vector<Golden> goldens;
  std::ifstream file(std::string(reference::kTestsDirectory) + "/golden/sampling.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    const auto& fields = json.at("fields");
    Golden golden;
    golden.logits = json.at("logits").get<Logits>();
    golden.greedy = json.at("greedy");
    golden.probabilities = json.at("probabilities").get<std::vector<double>>();
    golden.sample.prompt = json.at("prompt").get<Ids>();
    golden.sample.generated = json.at("generated").get<Ids>();
    SamplingOptions& sampling = golden.sample.sampling;
    sampling = {.temperature = fields.value("temperature", 1.0),
                .top_p = fields.value("top_p", 1.0),
                .top_k = fields.value("top_k", 0),
                .min_p = fields.value("min_p", 0.0),
                .seed = 1};
    AdjustmentOptions& adjustment = golden.sample.adjustment;
    adjustment.repetition_penalty = fields.value("repetition_penalty", 1.0);
    adjustment.frequency_penalty = fields.value("frequency_penalty", 0.0);
    adjustment.presence_penalty = fields.value("presence_penalty", 0.0);
    adjustment.bad_words = fields.value("bad_words", std::vector<Ids>());
    adjustment.min_tokens = fields.value("min_tokens", 0);
    adjustment.end_ids = fields.value("end_ids", Ids());
    adjustment.allowed = Sorted(fields.value("allowed", Ids()));
    for (const auto& [id, bias] : fields.value("logit_bias", std::map<std::string, double>())) {
      adjustment.logit_bias.emplace_back(std::stoi(id), bias);
    }
    std::ranges::sort(adjustment.logit_bias);
    goldens.push_back(std::move(golden));
  }
  return goldens;
}

// The definitions here are those of transformers, whose arithmetic is partly float32.
TEST(AdjustedSampling, TheDefinitionsAreThoseOfTransformers) {
  const std::vector<Golden> goldens = ReadGoldens();
  ASSERT_GE(goldens.size(), 20u);
  for (std::size_t i = 0; i < goldens.size(); ++i) {
    SCOPED_TRACE(i);
    const Golden& golden = goldens[i];
    const std::vector<double> found = Distribution(golden.sample, golden.logits);
    ASSERT_EQ(found.size(), golden.probabilities.size());
    for (std::size_t id = 0; id < found.size(); ++id) {
      EXPECT_NEAR(found[id], golden.probabilities[id], 1e-6);
      EXPECT_EQ(found[id] == 0, golden.probabilities[id] == 0) << id;
    }
  }
}

TEST(AdjustedSampling, DrawsFromTheDistributionsOfTransformers) {
  for (const Golden& golden : ReadGoldens()) {
    SCOPED_TRACE(::testing::PrintToString(golden.probabilities));
    constexpr int kDraws = 5000;
    const TokenSampler sampler =
        SamplerOf(golden.sample, static_cast<std::int64_t>(golden.logits.size()));
    std::vector<int> counts(golden.logits.size());
    for (std::uint32_t step = 0; step < kDraws; ++step) {
      ++counts[static_cast<std::size_t>(Choose(sampler, golden.logits, step))];
    }
    ExpectDrawnFrom(golden.probabilities, counts);
  }
}

TEST(AdjustedSampling, GreedyTakesTheBestOfTheAdjustedTokens) {
  for (Golden golden : ReadGoldens()) {
    golden.sample.sampling = {.temperature = 0};
    const auto size = static_cast<std::int64_t>(golden.logits.size());
    EXPECT_EQ(Choose(SamplerOf(golden.sample, size), golden.logits, 0), golden.greedy);
  }
}

/// Random options that leave some tokens.
Case RandomCase(std::mt19937& random, std::int64_t vocab) {
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  const auto id = [&] { return static_cast<TokenId>(random() % static_cast<unsigned>(vocab)); };
  const auto ids = [&](std::size_t most) {
    Ids made(random() % (most + 1));
    std::ranges::generate(made, id);
    return made;
  };
  Case made;
  made.sampling = {.temperature = one_in(4) ? 0 : 0.2 + 0.01 * (random() % 200), .seed = random()};
  made.sampling.top_k = one_in(3) ? 1 + random() % vocab : 0;
  made.sampling.top_p = one_in(2) ? 1e-3 * (1 + random() % 1000) : 1;
  made.sampling.min_p = one_in(3) ? 1e-4 * (random() % 10000) : 0;
  made.prompt = ids(static_cast<std::size_t>(one_in(3) ? vocab : 20));
  made.generated = ids(12);
  AdjustmentOptions& adjustment = made.adjustment;
  adjustment.repetition_penalty = one_in(2) ? 0.5 + 0.01 * (random() % 200) : 1;
  adjustment.presence_penalty = one_in(2) ? 0.01 * (random() % 200) : 0;
  adjustment.frequency_penalty = one_in(2) ? 0.01 * (random() % 200) : 0;
  for (const TokenId biased : Sorted(ids(one_in(2) ? 6 : 0))) {
    adjustment.logit_bias.emplace_back(biased, 0.1 * (random() % 100));
  }
  if (vocab < 20) {
    return made;
  }
  for (std::size_t words = random() % 5; words > 0; --words) {
    Ids word = ids(2);
    word.insert(word.begin(),
                made.generated.end() - std::min<std::size_t>(made.generated.size(), random() % 2),
                made.generated.end());
    if (!word.empty()) {
      adjustment.bad_words.push_back(word);
    }
  }
  adjustment.min_tokens = random() % 20;
  adjustment.end_ids = ids(3);
  if (one_in(4)) {
    Ids allowed(static_cast<std::size_t>(vocab));
    std::iota(allowed.begin(), allowed.end(), 0);
    std::ranges::shuffle(allowed, random);
    allowed.resize(20 + random() % (allowed.size() - 19));
    adjustment.allowed = Sorted(allowed);
  }
  return made;
}

// Each token must be the one that the definitions choose from the whole row, with the same noise.
TEST(AdjustedSampling, ChoosesTheTokenThatTheWholeRowGives) {
  std::mt19937 random(41);
  int adjusted = 0;
  for (int round = 0; round < 200; ++round) {
    const std::int64_t vocab = 1 + random() % (round % 3 == 0 ? 30 : 700);
    Case sample = RandomCase(random, vocab);
    Logits logits(static_cast<std::size_t>(vocab));
    std::normal_distribution<float> normal(0, 0.1F + 0.5F * static_cast<float>(random() % 8));
    std::ranges::generate(logits, [&] { return normal(random); });
    TokenSampler sampler = SamplerOf(sample, vocab);
    for (std::uint32_t step = 0; step < 3; ++step) {
      std::pair<double, TokenId> best = {kForbidden, 0};
      const std::vector<double> row = AdjustedRow(sample, logits);
      const std::vector<double> probabilities = Distribution(sample, logits);
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        const double noise =
            sample.sampling.is_greedy() ? 0 : proto::GumbelNoise(*sample.sampling.seed, step, id);
        if (sample.sampling.is_greedy() || probabilities[i] > 0) {
          best = std::max(best, {row[i] + noise, -id});
        }
      }
      SCOPED_TRACE("round " + std::to_string(round) + ", step " + std::to_string(step) +
                   ", vocabulary " + std::to_string(vocab));
      adjusted += sampler.Labels().empty() ? 0 : 1;
      ASSERT_EQ(Choose(sampler, logits, step), -best.second);
      // What is chosen counts for the next step.
      const proto::RowRead read = sampler.Wanted(step);
      if (sampler.Take(proto::ReadRow(logits, read, sampler.Labels()), step)) {
        sample.generated.push_back(-best.second);
      }
    }
  }
  EXPECT_GT(adjusted, 300);
}

TEST(AdjustedSampling, NeutralValuesReadNoLabels) {
  const TokenSampler sampler({.temperature = 1, .seed = 1}, 50,
                             TokenAdjustments({.min_tokens = 0, .end_ids = {3}}).WithPrompt({}));
  EXPECT_TRUE(sampler.Labels().empty());
  EXPECT_FALSE(sampler.Wanted(0).excludes_labels);
}

TEST(AdjustedSampling, OnlyAllowedTokensAreRead) {
  Ids many(2000);
  std::iota(many.begin(), many.end(), 0);
  const TokenSampler few({.temperature = 0.5, .top_p = 0.5, .seed = 1}, 5000,
                         TokenAdjustments({.allowed = {3, 9}}));
  EXPECT_EQ(few.Wanted(0), proto::RowRead());
  EXPECT_EQ(few.Labels(), (proto::LabelList{3, 9}));
  const TokenSampler more({.temperature = 0.5, .seed = 1}, 5000,
                          TokenAdjustments({.allowed = many}));
  EXPECT_EQ(more.Wanted(0), (proto::RowRead{.normalizer = true, .excludes_labels = true}))
      << "their logits are picked out of all";
}

// Copies of what a prompt's completions have in common share the list, which is in a plan once.
TEST(AdjustedSampling, CompletionsOfAPromptShareItsTokens) {
  const TokenAdjustments of_all = TokenAdjustments({.repetition_penalty = 2}).WithPrompt({1, 5, 9});
  TokenAdjustments one = of_all;
  TokenAdjustments other = of_all;
  EXPECT_EQ(one.tokens().identity(), other.tokens().identity());
  EXPECT_EQ(one.tokens().identity(), of_all.prompt().identity());
  one.Add(5);
  EXPECT_EQ(one.tokens().identity(), other.tokens().identity()) << "a token of the prompt";
  one.Add(7);
  EXPECT_EQ(one.tokens(), (proto::LabelList{1, 5, 7, 9}));
  EXPECT_EQ(other.tokens(), (proto::LabelList{1, 5, 9}));
}

}  // namespace adjusted_sampling_test
}  // namespace scorecast::coordinator
