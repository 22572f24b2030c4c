#include "coordinator/generate/completion_generator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/text/unicode/utf8.h"
#include "tests/coordinator/generate/small_tokenizers.h"
#include "tests/proto/plan/row_reads.h"

namespace scorecast::coordinator {
namespace completion_generator_test {

using Ids = std::vector<TokenId>;
using Kind = TokenChooser::Choice::Kind;

/// What a greedy read returns for a row with this best token.
proto::RowLogits RowOf(TokenId best) {
  proto::RowLogits row;
  row.max = 2.5f;
  row.sum_exp = 1.5;
  row.top = {{best, 2.5f}};
  return row;
}

struct Streamed {
  std::string text;
  Ids token_ids;
  std::vector<std::optional<FinishReason>> reasons;
};

/// Gives `tokens` to a generator until it ends, and adds up its deltas.
CompletionOutput Generate(const Tokenizer* tokenizer, const Ids& context,
                          const CompletionOptions& options, const Ids& tokens, Streamed& streamed) {
  CompletionGenerator generator(tokenizer, 1000, context, options, [&](CompletionDelta delta) {
    EXPECT_TRUE(IsValidUtf8(delta.text));
    EXPECT_EQ(delta.token_ids.size(), 1u);
    streamed.text += delta.text;
    streamed.token_ids.insert(streamed.token_ids.end(), delta.token_ids.begin(),
                              delta.token_ids.end());
    streamed.reasons.push_back(delta.finish_reason);
  });
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(generator.Wanted().top_k, 1);
    const TokenChooser::Choice choice = generator.Take(RowOf(tokens[i]));
    if (choice.kind == Kind::kEnd) {
      break;
    }
    EXPECT_EQ(choice.kind, Kind::kToken);
    EXPECT_EQ(choice.token, tokens[i]);
    EXPECT_LT(i + 1, tokens.size()) << "does not end";
  }
  EXPECT_TRUE(generator.is_finite());
  EXPECT_EQ(generator.output().text, streamed.text);
  EXPECT_EQ(generator.output().token_ids, streamed.token_ids);
  EXPECT_EQ(streamed.reasons.size(), streamed.token_ids.size());
  for (std::size_t i = 0; i + 1 < streamed.reasons.size(); ++i) {
    EXPECT_EQ(streamed.reasons[i], std::nullopt);
  }
  EXPECT_EQ(streamed.reasons.back(), generator.output().finish_reason);
  return generator.output();
}

CompletionOutput Generate(const Tokenizer* tokenizer, const Ids& context,
                          const CompletionOptions& options, const Ids& tokens) {
  Streamed streamed;
  return Generate(tokenizer, context, options, tokens, streamed);
}

/// The text up to the stop string that a plain search, character by character, finds first.
std::optional<std::string> BeforeFirstStop(const std::string& text,
                                           const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::string> shortest;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop) &&
          !(shortest && shortest->size() < end - stop.size())) {
        shortest = text.substr(0, end - stop.size());
      }
    }
    if (shortest) {
      return shortest;
    }
  }
  return std::nullopt;
}

class CompletionGeneratorOf : public testing::TestWithParam<std::string> {};

TEST_P(CompletionGeneratorOf, EndsAsIfTheWholeTextWereSearched) {
  const std::unique_ptr<Tokenizer> tokenizer = SmallTokenizer(GetParam());
  ASSERT_NE(tokenizer, nullptr);
  HardTokens hard(*tokenizer, 41);
  int stopped = 0;
  int at_length = 0;
  for (int round = 0; round < 400; ++round) {
    const Ids context = hard.Next(10);
    Ids tokens = hard.Next(40);
    if (tokens.empty()) {
      continue;
    }
    Ids all = context;
    all.insert(all.end(), tokens.begin(), tokens.end());
    const std::string text = TextAfter(tokenizer->Decode(context), tokenizer->Decode(all));

    CompletionOptions options;
    options.max_new_tokens = static_cast<std::int64_t>(tokens.size());
    // Substrings of the text, in whole characters. Some have a character added that may not follow.
    std::vector<std::size_t> bounds;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (i == text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
        bounds.push_back(i);
      }
    }
    std::vector<std::string> stops;
    for (std::size_t i = hard.Below(4); i > 0; --i) {
      const std::size_t begin = hard.Below(bounds.size());
      const std::size_t end = std::min(begin + 1 + hard.Below(9), bounds.size() - 1);
      std::string stop = text.substr(bounds[begin], bounds[end] - bounds[begin]);
      stop += hard.Below(3) == 0 ? "é" : "";
      if (!stop.empty()) {
        stops.push_back(stop);
      }
    }
    SCOPED_TRACE(testing::PrintToString(context) + " | " + testing::PrintToString(tokens) +
                 " until " + testing::PrintToString(stops));
    options.stop = stops;
    const CompletionOutput output = Generate(tokenizer.get(), context, options, tokens);
    const std::optional<std::string> before = BeforeFirstStop(text, stops);
    ASSERT_EQ(output.text, before.value_or(text));
    ASSERT_EQ(output.finish_reason, before ? FinishReason::kStop : FinishReason::kLength);
    ASSERT_TRUE(std::equal(output.token_ids.begin(), output.token_ids.end(), tokens.begin()));
    ++(before ? stopped : at_length);
  }
  EXPECT_GT(stopped, 50);
  EXPECT_GT(at_length, 50);
}

INSTANTIATE_TEST_SUITE_P(Small, CompletionGeneratorOf, testing::ValuesIn(SmallTokenizers()),
                         NameOfTokenizer<testing::TestParamInfo<std::string>>);
INSTANTIATE_TEST_SUITE_P(WordEnds, CompletionGeneratorOf, testing::Values("word-ends"),
                         NameOfTokenizer<testing::TestParamInfo<std::string>>);

class CompletionGeneratorTest : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> tokenizer_ = SmallTokenizer("sentencepiece-bpe");
  Ids context_ = tokenizer_->Encode("one");
};

TEST_F(CompletionGeneratorTest, EndsAtMaxNewTokens) {
  const Ids tokens = tokenizer_->Encode("two three");
  for (std::size_t size = 1; size <= tokens.size(); ++size) {
    const Ids first(tokens.begin(), tokens.begin() + size);
    Ids all = context_;
    all.insert(all.end(), first.begin(), first.end());
    const CompletionOutput output = Generate(
        tokenizer_.get(), context_, {.max_new_tokens = static_cast<std::int64_t>(size)}, tokens);
    EXPECT_EQ(output.token_ids, first);
    EXPECT_EQ(output.text, tokenizer_->Decode(all).substr(3));
    EXPECT_EQ(output.finish_reason, FinishReason::kLength);
  }
}

TEST_F(CompletionGeneratorTest, AStopTokenHasNoText) {
  Ids tokens = tokenizer_->Encode("two");
  tokens.push_back(2);
  const CompletionOptions options = {.max_new_tokens = 100, .stop_token_ids = {7, 2}};
  const CompletionOutput output = Generate(tokenizer_.get(), context_, options, tokens);
  EXPECT_EQ(output.text, " two");
  EXPECT_EQ(output.token_ids, tokens);
  EXPECT_EQ(output.finish_reason, FinishReason::kStop);

  // The same holds if the token is also the last one allowed.
  const CompletionOutput last =
      Generate(tokenizer_.get(), context_, {.max_new_tokens = 1, .stop_token_ids = {2}}, {2});
  EXPECT_EQ(last.text, "");
  EXPECT_EQ(last.token_ids, Ids{2});
  EXPECT_EQ(last.finish_reason, FinishReason::kStop);

  // If the token does not stop, it has text.
  const CompletionOutput other =
      Generate(tokenizer_.get(), context_,
               {.max_new_tokens = static_cast<std::int64_t>(tokens.size())}, tokens);
  EXPECT_EQ(other.text, " two" + tokenizer_->Decode(Ids{2}));
}

TEST_F(CompletionGeneratorTest, AStopTokenShowsTheTextThatWasHeldBack) {
  Ids tokens = tokenizer_->Encode("two");
  tokens.push_back(2);
  const CompletionOptions options = {
      .max_new_tokens = 100, .stop = {"two!", "wo!"}, .stop_token_ids = {2}};
  Streamed streamed;
  const CompletionOutput output = Generate(tokenizer_.get(), context_, options, tokens, streamed);
  EXPECT_EQ(output.text, " two");
  EXPECT_EQ(output.finish_reason, FinishReason::kStop);
}

TEST_F(CompletionGeneratorTest, AStopStringEndsTheCompletionWithItsToken) {
  const Ids tokens = tokenizer_->Encode("two three four");
  Ids all = context_;
  std::size_t needed = 0;
  while (tokenizer_->Decode(all).find("thr") == std::string::npos) {
    all.push_back(tokens[needed++]);
  }
  const CompletionOutput output =
      Generate(tokenizer_.get(), context_, {.max_new_tokens = 100, .stop = {"thr"}}, tokens);
  EXPECT_EQ(output.text, " two ");
  EXPECT_EQ(output.token_ids, Ids(tokens.begin(), tokens.begin() + needed));
  EXPECT_EQ(output.finish_reason, FinishReason::kStop);
}

TEST_F(CompletionGeneratorTest, WithoutATokenizerThereAreTokensOnly) {
  const CompletionOptions options = {.max_new_tokens = 3, .stop = {"two"}, .stop_token_ids = {9}};
  const CompletionOutput output = Generate(nullptr, context_, options, {4, 5, 6});
  EXPECT_EQ(output.text, "");
  EXPECT_EQ(output.token_ids, (Ids{4, 5, 6}));
  EXPECT_EQ(output.finish_reason, FinishReason::kLength);
  EXPECT_EQ(Generate(nullptr, {}, options, {4, 9}).finish_reason, FinishReason::kStop);
}

TEST_F(CompletionGeneratorTest, ARowThatIsNotFiniteEndsTheCompletion) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<proto::RowLogits> rows(8, RowOf(4));
  rows[0].max = kNan;
  rows[1].max = kInfinity;
  rows[2].max = -kInfinity;
  rows[3].sum_exp = kNan;
  rows[4].sum_exp = kInfinity;
  rows[5].top[0].second = kNan;
  rows[6].drawn = {{4, 0, kNan}};
  rows[7].drawn = {{4, 0, -kInfinity}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    int deltas = 0;
    CompletionGenerator generator(tokenizer_.get(), 1000, context_, {.max_new_tokens = 100},
                                  [&](const CompletionDelta&) { ++deltas; });
    EXPECT_EQ(generator.Take(RowOf(6)).kind, Kind::kToken);
    EXPECT_TRUE(generator.is_finite());
    EXPECT_EQ(generator.Take(rows[i]).kind, Kind::kEnd);
    EXPECT_FALSE(generator.is_finite());
    EXPECT_EQ(generator.output().token_ids, Ids{6});
    EXPECT_EQ(deltas, 1);
  }
}

// A row with one broken logit, for each way in which a row may be read.
TEST_F(CompletionGeneratorTest, ABrokenLogitOfAWholeRowIsSeen) {
  std::vector<float> logits(200, 0.5f);
  for (const SamplingOptions& sampling : {SamplingOptions{},
                                          {.temperature = 1, .seed = 1},
                                          {.temperature = 1, .top_k = 3, .seed = 1},
                                          {.temperature = 1, .top_p = 0.5, .seed = 1}}) {
    CompletionGenerator generator(nullptr, 200, {}, {.max_new_tokens = 9, .sampling = sampling},
                                  {});
    EXPECT_EQ(generator.Take(proto::ReadRow(logits, generator.Wanted())).kind,
              sampling.top_p < 1 ? Kind::kReadAgain : Kind::kToken);
    for (const float broken :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      std::vector<float> row = logits;
      row[150] = broken;
      CompletionGenerator other(nullptr, 200, {}, {.max_new_tokens = 9, .sampling = sampling}, {});
      EXPECT_EQ(other.Take(proto::ReadRow(row, other.Wanted())).kind, Kind::kEnd);
      EXPECT_FALSE(other.is_finite());
    }
  }
}

TEST_F(CompletionGeneratorTest, StepsCountTokensNotReads) {
  const std::vector<float> flat(300, 1.f);
  std::vector<float> peaked = flat;
  peaked[7] = 50;
  CompletionGenerator generator(
      nullptr, 300, {},
      {.max_new_tokens = 9, .sampling = {.temperature = 1, .top_p = 0.9, .seed = 0}}, {});
  EXPECT_EQ(generator.Take(proto::ReadRow(flat, generator.Wanted())).kind, Kind::kReadAgain);
  EXPECT_FALSE(generator.Wanted().masses.places.empty());
  EXPECT_EQ(generator.Take(proto::ReadRow(flat, generator.Wanted())).kind, Kind::kToken);
  const TokenChooser::Choice choice = generator.Take(proto::ReadRow(peaked, generator.Wanted()));
  EXPECT_EQ(choice.kind, Kind::kToken);
  EXPECT_EQ(choice.token, 7);
  EXPECT_EQ(generator.output().token_ids.size(), 2u);

  CompletionGenerator drawing(nullptr, 300, {},
                              {.max_new_tokens = 9, .sampling = {.temperature = 1, .seed = 6}}, {});
  for (std::uint32_t step = 0; step < 5; ++step) {
    EXPECT_EQ(drawing.Wanted().draw, (proto::Draw{6, step}));
    drawing.Take(proto::ReadRow(flat, drawing.Wanted()));
  }
}

/// The deltas of a completion of these tokens, and whether it differs from what was sent.
struct Deltas {
  std::vector<CompletionDelta> all;
  bool differs = false;
  std::size_t taken = 0;  ///< Tokens until it ended.
};

Deltas DeltasOf(const Tokenizer* tokenizer, const Ids& context, const CompletionOptions& options,
                const Ids& tokens) {
  Deltas deltas;
  CompletionGenerator generator(tokenizer, 1000, context, options, [&](CompletionDelta delta) {
    deltas.all.push_back(std::move(delta));
  });
  Kind kind = Kind::kToken;
  while (kind == Kind::kToken && deltas.taken < tokens.size()) {
    kind = generator.Take(RowOf(tokens[deltas.taken++])).kind;
  }
  EXPECT_EQ(kind, Kind::kEnd);
  deltas.differs = generator.differs();
  return deltas;
}

void ExpectSame(const CompletionDelta& one, const CompletionDelta& other) {
  EXPECT_EQ(one.text, other.text);
  EXPECT_EQ(one.token_ids, other.token_ids);
  EXPECT_EQ(one.finish_reason, other.finish_reason);
  EXPECT_EQ(one.reached, other.reached);
}

TEST_F(CompletionGeneratorTest, GoesOnBehindWhatWasSent) {
  Ids tokens = tokenizer_->Encode("two three four");
  tokens.push_back(2);
  // The stop strings hold back the beginning of "three" and " four".
  const CompletionOptions options = {
      .max_new_tokens = 100, .stop = {"three!", " fourth"}, .stop_token_ids = {2}, .echo = "one"};
  const Deltas whole = DeltasOf(tokenizer_.get(), context_, options, tokens);
  ASSERT_EQ(whole.all.size(), tokens.size());
  for (std::size_t sent = 0; sent < whole.all.size(); ++sent) {
    SCOPED_TRACE(sent);
    EXPECT_EQ(whole.all[sent].reached.tokens, static_cast<std::int64_t>(sent) + 1);
    CompletionOptions rest = options;
    rest.sent = whole.all[sent].reached;
    const Deltas deltas = DeltasOf(tokenizer_.get(), context_, rest, tokens);
    EXPECT_FALSE(deltas.differs);
    ASSERT_EQ(deltas.all.size(), tokens.size() - sent - 1);
    for (std::size_t i = 0; i < deltas.all.size(); ++i) {
      ExpectSame(deltas.all[i], whole.all[sent + 1 + i]);
    }
  }
}

TEST_F(CompletionGeneratorTest, EndsIfOtherTokensWereSent) {
  const Ids tokens = {4, 5, 6, 7, 8};
  CompletionOptions options = {.max_new_tokens = 5};
  const auto reached = [&](const Ids& of) {
    return DeltasOf(nullptr, context_, {.max_new_tokens = std::ssize(of)}, of).all.back().reached;
  };
  for (const Ids& other : {Ids{4, 5, 9}, Ids{4, 6, 5}, Ids{9, 5, 6}}) {
    options.sent = reached(other);
    const Deltas deltas = DeltasOf(nullptr, context_, options, tokens);
    EXPECT_TRUE(deltas.differs);
    EXPECT_THAT(deltas.all, ::testing::IsEmpty());
    EXPECT_EQ(deltas.taken, 3U);
  }
  options.sent = reached({4, 5, 6, 7, 8, 9});
  const Deltas shorter = DeltasOf(nullptr, context_, options, tokens);
  EXPECT_TRUE(shorter.differs) << "it ends before";
  EXPECT_THAT(shorter.all, ::testing::IsEmpty());
}

TEST(FinishReasonName, IsThatOfTheResponse) {
  EXPECT_STREQ(Name(FinishReason::kStop), "stop");
  EXPECT_STREQ(Name(FinishReason::kLength), "length");
}

}  // namespace completion_generator_test
}  // namespace scorecast::coordinator
