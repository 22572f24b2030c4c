// The trained decision model answers what it has not seen in training, and as transformers does.

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/deciding.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/directories.h"

namespace scorecast::testing {
namespace decision_model_test {

using nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

const std::filesystem::path& Directory() {
  static const std::filesystem::path directory =
      std::filesystem::path(reference::kTestsDirectory) / "decision_model";
  return directory;
}

BatchRun Ask(const std::vector<OrderedJson>& bodies, int ranks, const std::string& dtype) {
  BatchRun run = RunDecisions({Directory() / "model", {}, ranks, dtype}, bodies);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.lines.size(), bodies.size());
  return run;
}

/// Whether the most likely answer is `label`: true or false, an option, or a level's index.
bool IsRight(const json& answer, const OrderedJson& label) {
  if (answer.at("type") == "noul") {
    return (answer.at("noul").get<double>() > 0.5) == label.get<bool>();
  }
  if (answer.at("type") == "choice") {
    return answer.at("choice").get<std::string>() == label.get<std::string>();
  }
  const json& levels = answer.at("probabilities");
  const auto best = std::max_element(levels.begin(), levels.end());
  return best.key() == std::to_string(label.get<int>());
}

TEST(DecisionModel, KnowsWhatTheDemoAsks) {
  const auto request = OrderedJson::parse(ReadFile(Directory() / "demo_request.json"));
  const json answers = Ask({request}, /*ranks=*/0, "f32").Body(0).at("answers");
  EXPECT_LT(answers.at("in_rome").at("noul"), 0.05);
  EXPECT_GT(answers.at("key_is_emmas").at("noul"), 0.95);
  EXPECT_EQ(answers.at("colour").at("choice"), "red");
  EXPECT_NEAR(answers.at("price").at("score"), 1, 0.05);
  EXPECT_NEAR(answers.at("anger").at("score"), 4, 0.05);
}

// In float32 a logit of this model errs by about 1e-5, and a probability by less than a quarter of
// what the difference of two logits does.
TEST(DecisionModel, GivesTransformersProbabilities) {
  const auto cases = OrderedJson::parse(ReadFile(Directory() / "goldens/decisions.json"));
  std::vector<OrderedJson> bodies;
  for (const OrderedJson& one : cases) {
    bodies.push_back(one.at("request"));
  }
  for (const int ranks : {0, 2}) {
    const BatchRun run = Ask(bodies, ranks, "f32");
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      for (const auto& [id, question] : bodies[i].at("questions").items()) {
        SCOPED_TRACE(bodies[i].at("state").dump() + " " + id);
        const std::vector<double> expected = cases[i].at("probabilities").at(id);
        const std::vector<double> given =
            ProbabilitiesOf(question, run.Body(i).at("answers").at(id));
        ASSERT_EQ(given.size(), expected.size());
        for (std::size_t option = 0; option < given.size(); ++option) {
          EXPECT_NEAR(given[option], expected[option], 1e-4);
        }
      }
    }
  }
}

class DecisionModelHeldOut : public ::testing::TestWithParam<const char*> {};

TEST_P(DecisionModelHeldOut, AnswersWhatItHasNotSeen) {
  std::vector<OrderedJson> bodies;
  std::vector<OrderedJson> labels;
  std::ifstream file(Directory() / "held_out.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto body = OrderedJson::parse(line);
    labels.push_back(body.at("labels"));
    body.erase("labels");
    bodies.push_back(std::move(body));
  }
  const BatchRun run = Ask(bodies, /*ranks=*/0, GetParam());
  std::map<std::string, std::pair<int, int>> right;  // By type: right answers, and all.
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    for (const auto& [id, label] : labels[i].items()) {
      const json answer = run.Body(i).at("answers").at(id);
      auto& [hits, count] = right[answer.at("type")];
      hits += IsRight(answer, label) ? 1 : 0;
      ++count;
    }
  }
  ASSERT_EQ(right.size(), 3U);
  int all = 0;
  for (const auto& [type, counts] : right) {
    EXPECT_GE(counts.first, 0.95 * counts.second) << type << " of " << counts.second;
    all += counts.second;
  }
  EXPECT_GE(all, 2000);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, DecisionModelHeldOut, ::testing::Values("f32", "bf16", "int8"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace decision_model_test
}  // namespace scorecast::testing
