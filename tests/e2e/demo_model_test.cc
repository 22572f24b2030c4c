// The trained model of ./demo, through a batch file. The right candidates win on any number of
// ranks, and in every precision also in requests that were kept out of the training.

#include <cmath>
#include <cstddef>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace demo_model_test {

using nlohmann::json;

const std::vector<std::string> kMultiItem = {"--multi-item-scoring-delimiter", "<|item|>"};

json Body(const std::string& query, const json& items) {
  return {{"query", query}, {"items", items}, {"labels", {" yes", " no"}}, {"apply_softmax", true}};
}

/// Index of the item whose first label has the highest probability.
std::size_t Best(const json& scores) {
  std::size_t best = 0;
  for (std::size_t item = 1; item < scores.size(); ++item) {
    if (scores[item][0] > scores[best][0]) {
      best = item;
    }
  }
  return best;
}

class DemoModel : public ::testing::TestWithParam<int> {};

TEST_P(DemoModel, KnowsWhatTheDemoAsks) {
  const std::vector<json> bodies = {
      Body("The capital of France is", {" London", " Madrid", " Rome", " Berlin", " Tokyo",
                                        " Paris", " Vienna", " Oslo", " Lisbon", " Athens"}),
      Body("Which sentence tells the colour of the sky?",
           {" The grass is green.", " Paris is the capital of France.", " The baker makes bread.",
            " The dog barks.", " The snow is white.", " The sky is blue.",
            " The window is made of glass.", " The opposite of hot is cold.",
            " The colour of the lemon is yellow.", " The day after Monday is Tuesday."})};
  const BatchRun run = RunBatch({DemoModelDirectory(), kMultiItem, GetParam()}, bodies);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(Best(run.Body(i).at("scores")), 5U) << bodies[i].at("query");
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, DemoModel, ::testing::Values(1, 2, 3, 4, 6));

/// Requests that were kept out of the training: each has ten items and their verdicts.
std::vector<json> HeldOut() {
  std::vector<json> requests;
  std::ifstream file(DemoModelDirectory() / "../held_out.jsonl");
  for (std::string line; std::getline(file, line);) {
    json request = json::parse(line);
    if (request.at("kind") == "Judgement") {
      requests.push_back(std::move(request));
    }
  }
  return requests;
}

/// Scores them, with log-probabilities.
BatchRun ScoreAll(const std::vector<json>& requests, const std::string& dtype) {
  std::vector<json> bodies;
  for (const json& request : requests) {
    bodies.push_back(Body(request.at("query"), request.at("items")));
    bodies.back()["return_token_logprobs"] = true;
  }
  BatchRun run = RunBatch({DemoModelDirectory(), kMultiItem, 0, dtype}, bodies);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return run;
}

class DemoModelHeldOut : public ::testing::TestWithParam<const char*> {};

TEST_P(DemoModelHeldOut, IsRightInNineteenOfTwenty) {
  constexpr double kRight = 0.95;
  const std::vector<json> requests = HeldOut();
  ASSERT_GE(requests.size(), 100U);
  const BatchRun run = ScoreAll(requests, GetParam());
  double first = 0;
  double right_yes = 0;
  double wrong_no = 0;
  double wrong = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const json scores = run.Body(i).at("scores");
    const std::vector<bool> verdicts = requests[i].at("verdicts");
    ASSERT_EQ(scores.size(), 10U);
    first += verdicts[Best(scores)] ? 1 : 0;
    for (std::size_t item = 0; item < scores.size(); ++item) {
      const bool says_yes = scores[item][0] > scores[item][1];
      if (verdicts[item]) {
        right_yes += says_yes ? 1 : 0;
      } else {
        wrong_no += says_yes ? 0 : 1;
        ++wrong;
      }
    }
  }
  const auto count = static_cast<double>(requests.size());
  EXPECT_GE(first / count, kRight) << "the right candidate comes first of ten";
  // Right and wrong candidates count equally.
  EXPECT_GE((right_yes / count + wrong_no / wrong) / 2, kRight) << "yes or no is right";
}

INSTANTIATE_TEST_SUITE_P(Dtypes, DemoModelHeldOut, ::testing::Values("f32", "bf16", "int8"),
                         [](const auto& test) { return std::string(test.param); });

// The promised mean error of the labels' log-probabilities against float32. Labels that are
// unlikely, or about which the model is undecided, have a larger error: docs/numerics.md has
// figures.
TEST(DemoModelDtypes, LogProbabilitiesAreThoseOfFloat32) {
  const std::vector<json> requests = HeldOut();
  const BatchRun exact = ScoreAll(requests, "f32");
  for (const auto& [dtype, promised] : {std::pair{"bf16", 0.02}, std::pair{"int8", 0.05}}) {
    SCOPED_TRACE(dtype);
    const BatchRun run = ScoreAll(requests, dtype);
    double sum = 0;
    double count = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const json found = run.Body(i).at("token_logprobs");
      const json expected = exact.Body(i).at("token_logprobs");
      for (std::size_t item = 0; item < expected.size(); ++item) {
        for (std::size_t label = 0; label < expected[item].size(); ++label) {
          sum += std::abs(found[item][label].get<double>() - expected[item][label].get<double>());
          ++count;
        }
      }
    }
    EXPECT_GT(sum, 0) << "the precision differs";
    EXPECT_LE(sum / count, promised);
  }
}

}  // namespace demo_model_test
}  // namespace scorecast::testing
