// Decisions in a batch file: probabilities against those of transformers' label logits behind
// SGLang's prompts, made by tests/golden/make/decisions.py.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/deciding.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/directories.h"

namespace scorecast::testing {
namespace decision_scores_test {

// Options and levels keep their order.
using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

constexpr double kTolerance = 1e-4;

std::vector<Json> Golden(const std::string& name) {
  const std::filesystem::path dir =
      std::filesystem::path(reference::kTestsDirectory) / "golden" / "decisions";
  std::vector<Json> lines;
  for (const std::string& line : LinesOf(ReadFile(dir / (name + ".jsonl")))) {
    lines.push_back(Json::parse(line));
  }
  return lines;
}

struct Case {
  const char* model;
  const char* decision_template;
  bool blank_states;  ///< Whether the tokens of a question behind an empty state are SGLang's.
  int ranks;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.model << ", " << one.ranks << " ranks";
}

class DecisionScores : public ::testing::TestWithParam<Case> {};

TEST_P(DecisionScores, AreThoseOfTransformers) {
  const Case& one = GetParam();
  const std::filesystem::path model =
      std::filesystem::path(reference::kSharedDirectory) / "models" / one.model;
  if (!std::filesystem::exists(model)) {
    GTEST_SKIP() << "no reference model at " << model;
  }
  const std::vector<Json> cases = Golden("cases");
  const std::vector<Json> expected = Golden(one.model);
  ASSERT_EQ(cases.size(), expected.size());
  // A request for each state. Its questions are in one pass, and their ids are the cases' numbers.
  std::vector<Json> bodies;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Json& state = cases[i]["state"];
    if (state == "" && !one.blank_states) {
      continue;
    }
    if (bodies.empty() || bodies.back()["state"] != state) {
      bodies.push_back({{"state", state}, {"questions", Json::object()}});
    }
    bodies.back()["questions"][std::to_string(i)] = cases[i]["question"];
  }
  const BatchRun run = RunDecisions(
      {model, {"--decision-template", one.decision_template}, one.ranks, "f32"}, bodies);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("decision template " + std::string(one.decision_template)));
  ASSERT_EQ(run.lines.size(), bodies.size());
  std::size_t checked = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const nlohmann::json answers = run.Body(i).at("answers");
    ASSERT_EQ(answers.size(), bodies[i]["questions"].size());
    for (const auto& [id, question] : bodies[i]["questions"].items()) {
      SCOPED_TRACE(::testing::Message() << bodies[i]["state"] << ", " << question);
      const auto wanted =
          expected[std::stoul(id)]["probabilities"].template get<std::vector<double>>();
      EXPECT_THAT(ProbabilitiesOf(question, answers.at(id)),
                  ::testing::Pointwise(::testing::DoubleNear(kTolerance), wanted));
      ++checked;
    }
  }
  EXPECT_GE(checked, 60U);
}

INSTANTIATE_TEST_SUITE_P(All, DecisionScores,
                         ::testing::Values(Case{"qwen3-tiny", "sglang-v1-qwen3", true, 1},
                                           Case{"qwen3-tiny", "sglang-v1-qwen3", true, 2},
                                           Case{"qwen3-tiny", "sglang-v1-qwen3", true, 3},
                                           Case{"llama2-tiny", "sglang-v1-llama2", false, 1},
                                           Case{"llama2-tiny", "sglang-v1-llama2", false, 2},
                                           Case{"llama2-tiny", "sglang-v1-llama2", false, 3}),
                         [](const auto& test) {
                           std::string name = test.param.model;
                           std::erase(name, '-');
                           return name + "_" + std::to_string(test.param.ranks);
                         });

}  // namespace decision_scores_test
}  // namespace scorecast::testing
