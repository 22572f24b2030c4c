// Items that continue their query have the same scores in one pass as one by one, with every kind
// of tokenizer, whether or not tokens merge across the border.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace item_tokenization_test {

using nlohmann::json;

/// More than the vocabulary of each tokenizer, so no text contains the last id.
constexpr std::int64_t kVocabSize = 1024;
const std::string kUnused = std::to_string(kVocabSize - 1);
/// Bound on the difference of float32 log-probabilities whose sums are in another order.
constexpr double kRounding = 1e-5;

json Body(const std::string& query, const std::vector<std::string>& items) {
  return {{"query", query},
          {"items", items},
          {"label_token_ids", {300, 17, 5}},
          {"return_token_logprobs", true}};
}

class ItemTokenization : public ::testing::TestWithParam<const char*> {
 protected:
  BatchRun OneByOne(const std::vector<json>& bodies, const std::string& tokenization = "") const {
    BatchCommand command = {dir_, {"--one-by-one"}, 0, "f32"};
    if (!tokenization.empty()) {
      command.flags.insert(command.flags.end(), {"--item-tokenization", tokenization});
    }
    return RunAll(command, bodies);
  }

  BatchRun ByDefault(const std::vector<json>& bodies) const {
    return RunAll({dir_, {}, 0, "f32"}, bodies);
  }

  BatchRun InOnePass(const std::vector<json>& bodies, const std::string& tokenization) const {
    return RunAll({dir_,
                   {"--multi-item-scoring-delimiter", kUnused, "--item-tokenization", tokenization},
                   0,
                   "f32"},
                  bodies);
  }

  static BatchRun RunAll(const BatchCommand& command, const std::vector<json>& bodies) {
    BatchRun run = RunBatch(command, bodies);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run;
  }

  static void ExpectSame(const json& found, const json& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t item = 0; item < expected.size(); ++item) {
      for (std::size_t label = 0; label < expected[item].size(); ++label) {
        EXPECT_NEAR(found[item][label].get<double>(), expected[item][label].get<double>(),
                    kRounding)
            << "item " << item << ", label " << label;
      }
    }
  }

  /// Queries that end inside words, spaces, numbers, characters that combine and special tokens.
  static std::vector<json> Bodies() {
    const std::vector<std::string> items = {
        " harbour", "harbour", "our",      "s open", "",  " ",         "\n\n",
        "12",       "\u0301.", "m_end|>x", "語",     "🎉", "'s a boat", "\t light"};
    std::vector<json> bodies;
    for (const char* query :
         {"The harbour is", "The harbour is ", "the harb", "The boats, 1", "caf\u0065", "日本",
          "a\n", "The <|i", "<|im_start|>user", "The boats don"}) {
      bodies.push_back(Body(query, items));
    }
    return bodies;
  }

  const std::filesystem::path dir_ = MakeModel(GetParam(), kModelPositions, kVocabSize);
};

TEST_P(ItemTokenization, OnePassGivesTheScoresOfOneByOne) {
  const std::vector<json> bodies = Bodies();
  const BatchRun one_by_one = OneByOne(bodies);
  const BatchRun one_pass = InOnePass(bodies, "continued");
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    SCOPED_TRACE(bodies[i].dump());
    ExpectSame(one_pass.Body(i).at("token_logprobs"), one_by_one.Body(i).at("token_logprobs"));
  }
}

// The same, with the same bits as with a delimiter: the tokens are the same if items continue the
// query.
TEST_P(ItemTokenization, WithoutADelimiterScoresAreThoseOfOneByOne) {
  const std::vector<json> bodies = Bodies();
  const BatchRun one_by_one = OneByOne(bodies);
  const BatchRun by_default = ByDefault(bodies);
  const BatchRun with_delimiter = InOnePass(bodies, "continued");
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    SCOPED_TRACE(bodies[i].dump());
    const json found = by_default.Body(i);
    ExpectSame(found.at("token_logprobs"), one_by_one.Body(i).at("token_logprobs"));
    EXPECT_EQ(found.at("token_logprobs").dump(),
              with_delimiter.Body(i).at("token_logprobs").dump());
    EXPECT_FALSE(found.contains("query_token_logprobs"));
  }
}

TEST_P(ItemTokenization, ScoresDoNotDependOnTheOtherItems) {
  std::vector<json> bodies = Bodies();
  bodies.resize(3);
  const BatchRun together = InOnePass(bodies, "continued");
  std::vector<json> single;
  for (const json& body : bodies) {
    for (const json& item : body.at("items")) {
      single.push_back(body);
      single.back()["items"] = {item};
    }
  }
  const BatchRun apart = InOnePass(single, "continued");
  std::size_t line = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const json body = together.Body(i);
    for (const json& row : body.at("token_logprobs")) {
      EXPECT_EQ(apart.Body(line).at("token_logprobs")[0].dump(), row.dump()) << single[line];
      ++line;
    }
    EXPECT_EQ(apart.Body(line - 1).at("query_token_logprobs").dump(),
              body.at("query_token_logprobs").dump());
  }
  const BatchRun by_default = ByDefault(single);
  for (std::size_t i = 0; i < single.size(); ++i) {
    EXPECT_EQ(by_default.Body(i).at("token_logprobs").dump(),
              apart.Body(i).at("token_logprobs").dump())
        << single[i];
  }
}

TEST_P(ItemTokenization, AloneGivesTheSameScoresInBothModes) {
  const std::vector<json> bodies = Bodies();
  const BatchRun one_by_one = OneByOne(bodies, "alone");
  const BatchRun one_pass = InOnePass(bodies, "alone");
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    SCOPED_TRACE(bodies[i].dump());
    ExpectSame(one_pass.Body(i).at("token_logprobs"), one_by_one.Body(i).at("token_logprobs"));
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, ItemTokenization,
                         ::testing::Values("digits", "ignore-merges", "nfc", "prefix-space",
                                           "sentencepiece-bpe", "sentencepiece-unigram", "llama2",
                                           "gemma", "metaspace-always", "unigram-first"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

// "harb" and "our" together are one token. The item is therefore a sequence of its own, all of
// whose tokens count.
TEST(OwnSequence, HasTheBitsOfOneByOneAndCountsWholly) {
  const std::filesystem::path dir = MakeModel("digits", kModelPositions, kVocabSize);
  const std::vector<json> bodies = {Body("the harb", {"our"}), Body("the harb", {"our", " a"}),
                                    Body("the", {" harbour"})};
  const BatchRun one_by_one = RunBatch({dir, {"--one-by-one"}, 0, "f32"}, bodies);
  const BatchRun one_pass =
      RunBatch({dir,
                {"--multi-item-scoring-delimiter", kUnused, "--item-tokenization", "continued"},
                0,
                "f32"},
               bodies);
  ASSERT_EQ(one_pass.exit_code, 0) << one_pass.err;
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(one_pass.Body(i).at("scores")[0].dump(), one_by_one.Body(i).at("scores")[0].dump());
  }
  const auto tokens = [&](const BatchRun& run, std::size_t line) {
    return run.Body(line).at("usage").at("prompt_tokens").get<std::size_t>();
  };
  // The query's row is read, too, so the query is computed beside the item's sequence.
  const std::size_t query = tokens(one_pass, 0) - tokens(one_by_one, 0);
  EXPECT_GE(query, 2u);
  EXPECT_EQ(tokens(one_by_one, 0), tokens(one_by_one, 2)) << "the joint texts are equal";
  EXPECT_LT(tokens(one_pass, 1), tokens(one_by_one, 1) + query);
}

TEST(ItemTokenizationFlag, ContinuedDoesNotGoWithAVisibleDelimiter) {
  const BatchRun run = RunBatch({MakeModel("digits", kModelPositions, kVocabSize),
                                 {"--multi-item-scoring-delimiter", kUnused, "--item-tokenization",
                                  "continued", "--delimiter-visibility", "first"}},
                                {Body("a", {"b"})}, Transport::kBatch);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, ::testing::HasSubstr("--item-tokenization continued"));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

}  // namespace item_tokenization_test
}  // namespace scorecast::testing
