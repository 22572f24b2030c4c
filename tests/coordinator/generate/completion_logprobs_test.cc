// Log-probabilities of the tokens that a CompletionGenerator chooses: from how many reads, and that
// they are those of the whole vocabulary.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/generate/completion_generator.h"
#include "tests/coordinator/generate/small_tokenizers.h"
#include "tests/proto/plan/row_reads.h"

namespace scorecast::coordinator {
namespace completion_logprobs_test {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;
using Kind = TokenChooser::Choice::Kind;
using Logits = std::vector<float>;

constexpr std::size_t kVocabSize = 720;  // Larger than that of the tokenizer below.

/// [steps][vocabulary] Few different values, so that there are ties.
std::vector<Logits> RandomRows(std::size_t steps) {
  std::mt19937 random(5);
  std::vector<Logits> rows(steps, Logits(kVocabSize));
  for (Logits& row : rows) {
    for (float& logit : row) {
      logit = static_cast<float>(random() % 900) / 64;
    }
  }
  return rows;
}

struct Generated {
  CompletionOutput output;
  std::size_t reads = 0;
};

Generated Generate(const std::vector<Logits>& rows, CompletionOptions options,
                   const Tokenizer* tokenizer = nullptr) {
  options.max_new_tokens = static_cast<std::int64_t>(rows.size());
  std::vector<ScoredToken> streamed;
  CompletionGenerator generator(tokenizer, kVocabSize, {}, options, [&](CompletionDelta delta) {
    streamed.insert(streamed.end(), delta.scored.begin(), delta.scored.end());
  });
  Generated generated;
  for (std::size_t step = 0; step < rows.size();) {
    const proto::RowRead wanted = generator.Wanted();
    const auto kind = generator.Take(proto::ReadRow(rows[step], wanted, generator.Labels())).kind;
    step += kind == Kind::kReadAgain ? 0 : 1;
    ++generated.reads;
  }
  generated.output = generator.output();
  EXPECT_EQ(streamed.size(), generated.output.scored.size());
  return generated;
}

double LogProbability(const Logits& row, TokenId id) {
  double sum = 0;
  for (const float logit : row) {
    sum += std::exp(double{logit});
  }
  return row[static_cast<std::size_t>(id)] - std::log(sum);
}

/// The values are those of the model, without the temperature, and the chosen token has the same
/// bits among the best.
void ExpectLogprobs(const std::vector<Logits>& rows, const CompletionOutput& output,
                    std::size_t best) {
  ASSERT_EQ(output.scored.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ScoredToken& token = output.scored[i];
    EXPECT_EQ(token.id, output.token_ids[i]);
    EXPECT_NEAR(token.logprob, LogProbability(rows[i], token.id), 1e-12);
    ASSERT_EQ(token.best.size(), best);
    const auto read =
        proto::ReadRow(rows[i], {.normalizer = true, .top_k = static_cast<std::int32_t>(best)});
    for (std::size_t k = 0; k < best; ++k) {
      EXPECT_EQ(token.best[k].first, read.top[k].first);
      EXPECT_NEAR(token.best[k].second, LogProbability(rows[i], token.best[k].first), 1e-12);
      EXPECT_TRUE(token.best[k].first != token.id || token.best[k].second == token.logprob);
    }
  }
}

TEST(CompletionLogprobs, OfGreedyTokensTakeOneRead) {
  const std::vector<Logits> rows = RandomRows(12);
  for (const std::int64_t best : {0, 1, 20}) {
    const Generated generated = Generate(rows, {.logprobs = best});
    ExpectLogprobs(rows, generated.output, static_cast<std::size_t>(best));
    EXPECT_EQ(generated.reads, rows.size());
  }
}

TEST(CompletionLogprobs, OfDrawnTokensChangeNoToken) {
  const std::vector<Logits> rows = RandomRows(40);
  for (const SamplingOptions& sampling :
       {SamplingOptions{.temperature = 1, .seed = 3},
        SamplingOptions{.temperature = 0.7, .seed = 4},
        SamplingOptions{.temperature = 1, .top_k = 1, .seed = 5},
        SamplingOptions{.temperature = 1, .top_k = 9, .seed = 5},
        SamplingOptions{.temperature = 1, .top_p = 0.9, .seed = 6},
        SamplingOptions{.temperature = 3, .top_p = 0.9, .seed = 7}}) {
    const Generated without = Generate(rows, {.sampling = sampling});
    EXPECT_TRUE(without.output.scored.empty());
    const Generated generated = Generate(rows, {.sampling = sampling, .logprobs = 5});
    EXPECT_EQ(generated.output.token_ids, without.output.token_ids);
    ExpectLogprobs(rows, generated.output, 5);
    EXPECT_THAT(generated.reads, AllOf(Ge(without.reads), Le(without.reads + rows.size())));
    if (sampling.temperature != 1) {
      EXPECT_EQ(generated.reads, without.reads + rows.size()) << "another read at temperature 1";
    } else if (sampling.top_k == 9 || sampling.top_p < 1) {
      EXPECT_EQ(generated.reads, without.reads) << "what is drawn from is read";
    }
  }
}

// In the order of the request, and not sorted by value.
TEST(CompletionLogprobs, OfNamedTokensAreThoseOfTheModel) {
  const std::vector<Logits> rows = RandomRows(12);
  const std::vector<TokenId> named = {9, 700, 3};
  for (const SamplingOptions& sampling :
       {SamplingOptions{}, SamplingOptions{.temperature = 1, .seed = 3},
        SamplingOptions{.temperature = 0.7, .top_p = 0.9, .seed = 4}}) {
    for (const double penalty : {0.0, 1.0}) {
      const TokenAdjustments adjustments(AdjustmentOptions{.presence_penalty = penalty});
      const CompletionOptions options = {.sampling = sampling, .adjustments = adjustments};
      const Generated without = Generate(rows, options);
      CompletionOptions with = options;
      with.logprobs = 5;
      with.logprob_token_ids = named;
      const Generated generated = Generate(rows, with);
      EXPECT_EQ(generated.output.token_ids, without.output.token_ids);
      const bool is_divided = !sampling.is_greedy() && sampling.temperature != 1;
      EXPECT_EQ(generated.reads == without.reads, !is_divided && penalty == 0)
          << "a token and the named ones share a read";
      ASSERT_EQ(generated.output.scored.size(), rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const ScoredToken& token = generated.output.scored[i];
        EXPECT_NEAR(token.logprob, LogProbability(rows[i], token.id), 1e-12);
        ASSERT_EQ(token.best.size(), named.size());
        for (std::size_t k = 0; k < named.size(); ++k) {
          EXPECT_EQ(token.best[k].first, named[k]);
          EXPECT_NEAR(token.best[k].second, LogProbability(rows[i], named[k]), 1e-12);
        }
      }
    }
  }
}

TEST(CompletionLogprobs, OffsetsAreThoseOfTheText) {
  const auto tokenizer = SmallTokenizer("sentencepiece-bpe");
  const std::vector<TokenId> tokens = tokenizer->Encode("one Zürich two");
  std::vector<Logits> rows(tokens.size(), Logits(kVocabSize));
  ASSERT_LT(*std::ranges::max_element(tokens), static_cast<TokenId>(kVocabSize));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    rows[i][static_cast<std::size_t>(tokens[i])] = 5;
  }
  const CompletionOutput output =
      Generate(rows, {.echo = "né", .logprobs = 0}, tokenizer.get()).output;
  const std::string before = "né";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string text = tokenizer->Decode(std::span(tokens).first(i));
    // The text of a character's bytes comes with the last of them.
    const auto characters = std::ranges::count_if(
        before + text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; });
    if (text.find("\uFFFD") == std::string::npos) {
      EXPECT_EQ(output.scored[i].text_offset, characters) << i;
    }
  }
  EXPECT_TRUE(output.text.ends_with("Zürich two"));
}

}  // namespace completion_logprobs_test
}  // namespace scorecast::coordinator
