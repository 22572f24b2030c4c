// SGLang's own test cases of /v1/score, in every mode; and its setwise form, which reads every
// occurrence of a token.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/socket_transport.h"

namespace scorecast::testing {
namespace sglang_cases_test {

using nlohmann::json;
using Flags = std::vector<std::string>;

/// Bound on the difference of float32 log-probabilities whose sums are in another order.
constexpr double kRounding = 1e-5;

json Body(const std::string& query, const json& items, const json& labels) {
  return {{"query", query}, {"items", items}, {"labels", labels}};
}

json With(json body, const json& fields) {
  body.update(fields);
  return body;
}

/// The ids of texts, with BOS if the tokenizer adds one.
std::vector<std::vector<TokenId>> Tokenized(const std::vector<std::string>& texts) {
  std::string input;
  for (const std::string& text : texts) {
    input += json{{"text", text}}.dump() + "\n";
  }
  const ProcessResult result =
      RunScorecast({"tokenize", "--model", DemoModelDirectory()}, 0, input);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<std::vector<TokenId>> ids;
  for (const std::string& line : LinesOf(result.out)) {
    ids.push_back(json::parse(line).at("ids"));
  }
  return ids;
}

void ExpectNear(const json& found, const json& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t row = 0; row < expected.size(); ++row) {
    ASSERT_EQ(found[row].size(), expected[row].size());
    for (std::size_t label = 0; label < expected[row].size(); ++label) {
      EXPECT_NEAR(found[row][label].get<double>(), expected[row][label].get<double>(), kRounding)
          << "row " << row << ", label " << label;
    }
  }
}

bool HasSglangsRules(const Flags& flags) {
  return std::ranges::find(flags, "--enable-mis") != flags.end();
}

class SglangCases : public ::testing::TestWithParam<Flags> {
 protected:
  BatchRun RunWith(const std::vector<json>& bodies) const {
    BatchRun run = RunBatch({dir_, GetParam(), 0, "f32"}, bodies);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run;
  }

  const std::filesystem::path dir_ = DemoModelDirectory();
  const json capital_ = Body("The capital of France is", {" Paris", " Berlin"}, {" yes", " no"});
};

TEST_P(SglangCases, OnlyTheSoftmaxAddsUpToOne) {
  const BatchRun run = RunWith({With(capital_, {{"apply_softmax", true}}), capital_});
  for (const std::size_t body : {0, 1}) {
    const json scores = run.Body(body).at("scores");
    ASSERT_EQ(scores.size(), 2U);
    for (const json& row : scores) {
      ASSERT_EQ(row.size(), 2U);
      const double sum = row[0].get<double>() + row[1].get<double>();
      if (body == 0) {
        EXPECT_NEAR(sum, 1, 1e-6);
      } else {
        EXPECT_GT(std::abs(sum - 1), 1e-6);
      }
    }
  }
}

TEST_P(SglangCases, AnyNumberOfItems) {
  std::vector<json> bodies;
  for (const std::size_t count : {1, 2, 4, 6, 10, 15}) {
    json items = json::array();
    for (std::size_t i = 0; i < count; ++i) {
      items.push_back(" item " + std::to_string(i));
    }
    bodies.push_back(Body("The best of all is", items, {" yes", " no"}));
  }
  const BatchRun run = RunWith(bodies);
  const json most = run.Body(bodies.size() - 1).at("scores");
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const json scores = run.Body(i).at("scores");
    ASSERT_EQ(scores.size(), bodies[i].at("items").size());
    for (std::size_t item = 0; item < scores.size(); ++item) {
      EXPECT_EQ(scores[item].dump(), most[item].dump());
    }
  }
}

TEST_P(SglangCases, TheSameRequestHasTheSameScores) {
  const json unicode = Body("选择最佳选项：", {"选项一", "🎉", "é"}, {" yes", " no"});
  const BatchRun run = RunWith({capital_, unicode, capital_, unicode});
  EXPECT_EQ(run.StableResponse(0), run.StableResponse(2));
  EXPECT_EQ(run.StableResponse(1), run.StableResponse(3));
  EXPECT_EQ(run.Body(1).at("scores").size(), 3U);
}

TEST_P(SglangCases, FourAtATimeHaveTheScoresOfOneAtATime) {
  std::vector<EndpointRequest> requests;
  for (const char* query : {"The sky is", "The grass is", "The snow is", "The lemon is"}) {
    requests.push_back(ToScore(Body(query, {" blue.", " green.", " white."}, {" yes", " no"})));
  }
  const BatchCommand command = {dir_, GetParam(), 0, "f32"};
  const BatchRun together = RunRequests(command, requests, Transport::kSocket);
  const BatchRun in_turn = RunInTurn(command, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(together.StatusCode(i), 200) << together.lines[i];
    EXPECT_EQ(together.StableResponse(i), in_turn.StableResponse(i));
  }
}

TEST_P(SglangCases, TokensAndTextHaveTheSameScores) {
  const std::string query = capital_.at("query");
  const auto ids = Tokenized({query, query + " Paris", query + " Berlin"});
  json items = json::array();
  for (const std::size_t item : {1, 2}) {
    ASSERT_TRUE(std::equal(ids[0].begin(), ids[0].end(), ids[item].begin()));
    items.push_back(std::vector(ids[item].begin() + static_cast<std::ptrdiff_t>(ids[0].size()),
                                ids[item].end()));
  }
  const BatchRun run = RunWith({capital_, With(capital_, {{"query", ids[0]}, {"items", items}})});
  EXPECT_EQ(run.Body(0).at("scores").dump(), run.Body(1).at("scores").dump());
}

TEST_P(SglangCases, AnItemMayBeEmpty) {
  const json pledge = Body("I pledge allegiance", {"", " to"}, {" to", " the"});
  const BatchRun run =
      RunWith({pledge, With(pledge, {{"query", "I pledge allegiance to"}, {"items", {""}}})});
  EXPECT_EQ(run.Body(0).at("scores").size(), 2U);
  EXPECT_NE(run.Body(0).at("scores")[0], run.Body(0).at("scores")[1]);
  if (!HasSglangsRules(GetParam())) {  // They tokenize " to" alone.
    ExpectNear(json::array({run.Body(0).at("scores")[1]}), run.Body(1).at("scores"));
  }
}

TEST_P(SglangCases, AStringIsOneItemAndAnEmptyListNone) {
  const BatchRun run =
      RunWith({With(capital_, {{"items", " Paris"}}), With(capital_, {{"items", {" Paris"}}}),
               With(capital_, {{"items", json::array()}})});
  EXPECT_EQ(run.StableResponse(0), run.StableResponse(1));
  EXPECT_EQ(run.Body(2).at("scores"), json::array());
}

TEST_P(SglangCases, WrongTypesAre400s) {
  const json labels = {{"labels", nullptr}, {"label_token_ids", "bad"}};
  const BatchRun run =
      RunBatch({dir_, GetParam()}, {With(capital_, {{"items", 42}}), With(capital_, labels)},
               Transport::kBatch);
  EXPECT_EQ(run.exit_code, 3);
  for (const std::size_t body : {0, 1}) {
    EXPECT_EQ(run.StatusCode(body), 400);
    EXPECT_EQ(run.Body(body).at("reason"), "wrong_type");
    EXPECT_EQ(run.Body(body).at("param"), body == 0 ? "items" : "label_token_ids");
  }
}

TEST_P(SglangCases, ItemFirst) {
  const json city = Body(" is a city", {"Tokyo", "Japan"}, {" yes", " no"});
  const json reversed = Body("Tokyo", {" is a city"}, {" yes", " no"});
  const BatchRun run = RunWith({With(city, {{"item_first", true}}), city, reversed});
  const json first = run.Body(0);
  ASSERT_EQ(first.at("scores").size(), 2U);
  EXPECT_NE(first.at("scores")[0], first.at("scores")[1]);
  EXPECT_EQ(first.contains("item_first_ignored"), HasSglangsRules(GetParam()));
  if (HasSglangsRules(GetParam())) {
    EXPECT_EQ(first.at("scores"), run.Body(1).at("scores"));
  } else {
    ExpectNear(json::array({first.at("scores")[0]}), run.Body(2).at("scores"));
  }
}

TEST_P(SglangCases, OneItemIsScoredLikeItsPrompt) {
  const json logprobs = {{"return_token_logprobs", true}, {"items", {" Paris"}}};
  const BatchRun run = RunWith({With(capital_, logprobs)});
  const BatchRun one_by_one =
      RunBatch({dir_, {"--one-by-one"}, 0, "f32"}, {With(capital_, logprobs)});
  ExpectNear(run.Body(0).at("token_logprobs"), one_by_one.Body(0).at("token_logprobs"));
}

TEST_P(SglangCases, AClassifiersScoresDifferBetweenItems) {
  const json body = {{"query", "Where is Bob?"}, {"items", {" Bob is in Rome.", " Ann is here."}}};
  const BatchRun run = RunBatch({MakeClassifier(2, "digits"), GetParam(), 0, "f32"}, {body});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.Body(0).at("scores")[0], run.Body(0).at("scores")[1]);
}

// The row of an occurrence is the last row of the item that ends there.
TEST_P(SglangCases, SetwiseReadsEachOccurrence) {
  const std::string query = "Which of these is blue?";
  const json labels = {" yes", " no"};
  const json fields = {{"return_token_logprobs", true}, {"top_logprobs", 2}};
  const TokenId full_stop = Tokenized({query + " The lemon."})[0].back();
  const json setwise =
      With(With(Body(query, {" The sky. The grass. The snow.", " The lemon."}, labels), fields),
           {{"score_extraction_token", full_stop}});
  const json ends = With(
      Body(query,
           {" The sky.", " The sky. The grass.", " The sky. The grass. The snow.", " The lemon."},
           labels),
      fields);
  const BatchRun run = RunWith({setwise, ends, With(setwise, {{"score_extraction_token", "."}})});
  const json found = run.Body(0);
  const json expected = run.Body(1);
  for (const char* field : {"scores", "token_logprobs"}) {
    ASSERT_EQ(found.at(field).size(), 2U);
    ASSERT_EQ(found.at(field)[0].size(), 3U);
    ASSERT_EQ(found.at(field)[1].size(), 1U);
    for (const std::size_t row : {0, 1, 2}) {
      EXPECT_EQ(found.at(field)[0][row].dump(), expected.at(field)[row].dump()) << row;
    }
    EXPECT_EQ(found.at(field)[1][0].dump(), expected.at(field)[3].dump());
  }
  EXPECT_EQ(found.at("top_logprobs").dump(), expected.at("top_logprobs").dump())
      << "a row for each occurrence";
  EXPECT_EQ(run.Body(2).at("scores").dump(), found.at("scores").dump()) << "a token by its text";
}

TEST_P(SglangCases, SetwiseReadsAClassifier) {
  const json items = {" Bob is<|im_end|> Ann<|im_end|>", " Eve<|im_end|>"};
  const json body = {
      {"query", "Where?"}, {"items", items}, {"score_extraction_token", "<|im_end|>"}};
  const json ends = {
      {"query", "Where?"},
      {"items", {" Bob is<|im_end|>", " Bob is<|im_end|> Ann<|im_end|>", " Eve<|im_end|>"}}};
  const BatchRun run = RunBatch({MakeClassifier(3, "digits"), GetParam(), 0, "f32"}, {body, ends});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json expected = run.Body(1).at("scores");
  EXPECT_EQ(
      run.Body(0).at("scores").dump(),
      json::array({json::array({expected[0], expected[1]}), json::array({expected[2]})}).dump());
}

INSTANTIATE_TEST_SUITE_P(Modes, SglangCases,
                         ::testing::Values(Flags{}, Flags{"--enable-mis"}, Flags{"--one-by-one"},
                                           Flags{"--max-batch-tokens", "4"}),
                         [](const auto& test) {
                           std::string name = test.param.empty() ? "MultiItem" : test.param[0];
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace sglang_cases_test
}  // namespace scorecast::testing
