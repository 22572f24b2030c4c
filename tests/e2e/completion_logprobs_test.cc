// The log-probabilities of completions and of their prompts are those of transformers, on one, two
// and three ranks, whether K/V of the prompts is cached or not, alone and among other requests. So
// are the likelihoods of items.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/directories.h"

namespace scorecast::testing {
namespace completion_logprobs_test {

using nlohmann::json;

/// The promised largest error of a float32 log-probability against the references.
constexpr double kTolerance = 1e-4;

/// A file of tests/golden/prompts.
json GoldenOf(const std::string& family) {
  std::ifstream file(std::filesystem::path(reference::kTestsDirectory) / "golden" / "prompts" /
                     (family + ".json"));
  return json::parse(file);
}

/// The prompt of a golden, whose last token is generated.
json BodyOf(const json& golden, const json& fields) {
  json body = {{"prompt", golden.at("tokens")}, {"max_tokens", 1}, {"temperature", 0}};
  body["prompt"].erase(body["prompt"].size() - 1);
  body.update(fields);
  return body;
}

std::string Spelled(const json& id) { return "token_id:" + id.dump(); }

/// `logprobs` of an echoed prompt with its completion.
void ExpectEchoed(const json& logprobs, const json& golden) {
  const json& tokens = golden.at("tokens");
  ASSERT_EQ(logprobs.at("tokens").size(), tokens.size());
  ASSERT_EQ(logprobs.at("token_logprobs").size(), tokens.size());
  EXPECT_TRUE(logprobs.at("token_logprobs")[0].is_null());
  EXPECT_TRUE(logprobs.at("top_logprobs")[0].is_null());
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(logprobs.at("tokens")[i], Spelled(tokens[i]));
    const json& own = logprobs.at("token_logprobs")[i];
    EXPECT_NEAR(own.get<double>(), golden.at("token_logprobs")[i - 1].get<double>(), kTolerance);
    const json& top = logprobs.at("top_logprobs")[i];
    EXPECT_EQ(top.at(Spelled(tokens[i])), own) << "the same bits";
    for (const json& best : golden.at("top_logprobs")[i - 1]) {
      EXPECT_NEAR(top.at(Spelled(best[0])).get<double>(), best[1].get<double>(), kTolerance);
    }
  }
}

/// `prompt_logprobs` has the values of the echoed prompt.
void ExpectSameOfPrompt(const json& ranked, const json& echoed) {
  ASSERT_EQ(ranked.size() + 1, echoed.at("tokens").size());
  EXPECT_TRUE(ranked[0].is_null());
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    const json& top = echoed.at("top_logprobs")[i];
    ASSERT_EQ(ranked[i].size(), top.size());
    for (const auto& [id, entry] : ranked[i].items()) {
      EXPECT_EQ(entry.at("logprob"), top.at("token_id:" + id));
    }
  }
}

/// Requests for the ranks of a prompt's tokens, and for the log-probabilities of all tokens in
/// their places, as far as one request may name tokens.
std::vector<EndpointRequest> RankRequests(const json& golden) {
  constexpr TokenId kVocabSize = 320;
  constexpr TokenId kMostNamed = 128;
  std::vector<EndpointRequest> requests;
  for (TokenId begin = 0; begin < kVocabSize; begin += kMostNamed) {
    std::vector<TokenId> named(static_cast<std::size_t>(std::min(kMostNamed, kVocabSize - begin)));
    std::iota(named.begin(), named.end(), begin);
    requests.push_back(ToCompletions(BodyOf(
        golden, {{"max_tokens", 0}, {"prompt_logprobs", 0}, {"prompt_logprob_token_ids", named}})));
  }
  return requests;
}

/// `choices` are those of the RankRequests.
void ExpectCountedRanks(const std::vector<json>& choices) {
  const json& ranked = choices.front().at("prompt_logprobs");
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    const json& token = *ranked[i].begin();
    int at_least = 0;
    for (const json& choice : choices) {
      EXPECT_EQ(choice.at("prompt_logprobs")[i], ranked[i]) << "whatever else is read";
      for (const json& logprob : choice.at("prompt_token_id_logprobs")[i - 1]) {
        at_least += logprob.get<double>() >= token.at("logprob").get<double>() ? 1 : 0;
      }
    }
    EXPECT_EQ(token.at("rank"), at_least);
  }
}

class CompletionLogprobs : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(CompletionLogprobs, AreThoseOfTransformers) {
  const auto& [family, ranks] = GetParam();
  const json golden = GoldenOf(family);
  const json echo = {{"echo", true}, {"logprobs", 3}};
  BatchCommand command{FamilyDirectory(family), {}, ranks, "f32"};
  const BatchRun alone = RunRequests(command, {ToCompletions(BodyOf(golden, echo))});
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  const json expected = alone.Body(0).at("choices")[0].at("logprobs");
  ExpectEchoed(expected, golden);

  // A pass has fewer rows than the prompt, and the prompt's K/V is stored before it is read.
  command.flags = {"--max-batch-tokens", "48"};
  std::vector<EndpointRequest> requests = {
      ToCompletions(BodyOf(golden, {{"logprobs", 3}})),
      ToCompletions(BodyOf(golden, {{"max_tokens", 7}, {"temperature", 0.8}, {"n", 3}})),
      ToCompletions(BodyOf(golden, echo)),
      ToCompletions(BodyOf(golden, {{"prompt_logprobs", 3}, {"max_tokens", 0}}))};
  std::ranges::copy(RankRequests(golden), std::back_inserter(requests));
  const BatchRun together = RunRequests(command, requests);
  ASSERT_EQ(together.exit_code, 0) << together.err;
  const json last = together.Body(0).at("choices")[0].at("logprobs");
  EXPECT_EQ(last.at("top_logprobs")[0], expected.at("top_logprobs").back());
  EXPECT_EQ(together.Body(2).at("choices")[0].at("logprobs"), expected);
  const json usage = together.Body(2).at("usage");
  EXPECT_EQ(usage.at("prompt_tokens_details").at("cached_tokens"), 0) << "rows are computed";
  ExpectSameOfPrompt(together.Body(3).at("choices")[0].at("prompt_logprobs"), expected);
  std::vector<json> choices;
  for (std::size_t i = 4; i < requests.size(); ++i) {
    choices.push_back(together.Body(i).at("choices")[0]);
  }
  ExpectCountedRanks(choices);
}

// The likelihood of the prompt's end behind its beginning, in one pass with another item and alone.
TEST_P(CompletionLogprobs, AreLikelihoodsOfItems) {
  const auto& [family, ranks] = GetParam();
  const json golden = GoldenOf(family);
  const std::vector<TokenId> tokens = golden.at("tokens");
  constexpr std::size_t kQuery = 60;
  const auto begin = tokens.begin() + kQuery;
  const std::vector<std::vector<TokenId>> items = {{tokens[5], tokens[9]}, {begin, tokens.end()}};
  const json body = {{"query", std::vector<TokenId>(tokens.begin(), begin)},
                     {"items", items},
                     {"likelihood", true}};
  json one = body;
  one["items"].erase(std::size_t{0});
  std::vector<double> in_one_pass;
  for (const auto& [flags, transport] :
       {std::pair(std::vector<std::string>(), Transport::kBatch),
        std::pair(std::vector<std::string>{"--one-by-one"}, Transport::kSocket)}) {
    const BatchRun run = RunRequests({FamilyDirectory(family), flags, ranks, "f32"},
                                     {ToScore(body), ToScore(one)}, transport);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const std::vector<double> found = run.Body(0).at("token_logprobs")[1];
    EXPECT_EQ(run.Body(1).at("token_logprobs")[0], found) << "the same bits alone";
    ASSERT_EQ(found.size(), tokens.size() - kQuery);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], golden.at("token_logprobs")[kQuery + i - 1].get<double>(), kTolerance);
    }
    if (transport == Transport::kBatch) {
      in_one_pass = found;
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      // The rounding of a logit grows with its size.
      const double tolerance = 1e-5 * std::max(1.0, std::abs(in_one_pass[i]));
      EXPECT_NEAR(found[i], in_one_pass[i], tolerance) << "one pass and one by one";
    }
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::tuple<std::string, int>>& test) {
  std::string family = std::get<0>(test.param);
  std::erase(family, '-');
  return family + "_" + std::to_string(std::get<1>(test.param));
}

INSTANTIATE_TEST_SUITE_P(All, CompletionLogprobs,
                         ::testing::Combine(::testing::Values("llama", "qwen3", "gemma2"),
                                            ::testing::Values(1, 2, 3)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Others, CompletionLogprobs,
                         ::testing::Combine(::testing::Values("gemma", "gemma3", "llama-bias",
                                                              "llama-linear", "llama-nine-heads",
                                                              "llama3", "mistral", "qwen2",
                                                              "qwen2-yarn"),
                                            ::testing::Values(1)),
                         NameOf);

// The texts of tokens add up to the text, as far as SentencePiece's spaces at its beginning.
TEST(CompletionLogprobTexts, AreThoseOfTheDemoModel) {
  const BatchRun run = RunRequests({DemoModelDirectory(), {}, 0, "f32"},
                                   {ToCompletions({{"prompt", "Mary likes golf."},
                                                   {"max_tokens", 4},
                                                   {"temperature", 0},
                                                   {"ignore_eos", true},
                                                   {"skip_special_tokens", false},
                                                   {"echo", true},
                                                   {"logprobs", 2}})});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json choice = run.Body(0).at("choices")[0];
  const json& logprobs = choice.at("logprobs");
  std::string text;
  for (std::size_t i = 1; i < logprobs.at("tokens").size(); ++i) {
    const auto token = logprobs.at("tokens")[i].get<std::string>();
    const auto offset = logprobs.at("text_offset")[i].get<std::size_t>();
    EXPECT_EQ(offset, i == 1 ? 0 : text.size() - 1) << token;
    text += token;
  }
  EXPECT_EQ(text, " " + choice.at("text").get<std::string>()) << "without BOS";
  EXPECT_EQ(logprobs.at("tokens")[0], "<s>");
}

}  // namespace completion_logprobs_test
}  // namespace scorecast::testing
