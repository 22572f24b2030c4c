// An answer of /v1/systemone has the same bits alone, among a thousand questions, in any order and
// with any ids, cached or not, in any passes, and over every transport.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/http_transport.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace decision_bits_test {

using nlohmann::json;

constexpr const char* kTemplate = R"(state: "Text: {state}\n\n"
noul: "{if instructions}Is it true? {instructions}\n{end}{options}"
choice: "{if instructions}Question: {instructions}\n{end}{options}"
score: "{if instructions}Level: {instructions}\n{end}{options}"
option: "{label}: {name}{if description} - {description}{end}\n"
level: "{label}: {description}\n"
outcome: "{label}: {description}\n"
labels.noul: [["y","Y"],["n"]]
labels.choice: "A-Z"
labels.score: "0-9"
end: "Answer:\n"
temperature: {"choice": {"3-5": 1.3}}
)";

/// The harbour's questions; the first and the fourth are equal.
std::vector<json> Questions() {
  json many = {{"type", "choice"}, {"instructions", "Which berth?"}};
  for (int i = 0; i < 26; ++i) {
    many["criteria"]["berth " + std::to_string(i)] = i % 3 == 0 ? json("in use") : json();
  }
  const json noul = {{"type", "noul"}, {"instructions", "Is the harbour open?"}};
  return {noul,
          {{"type", "choice"},
           {"instructions", {{"ask", "Which colour?"}, {"of", {"boat", "sail"}}}},
           {"criteria", {{"blue", "as the sea"}, {"green", nullptr}, {"red", nullptr}}}},
          {{"type", "score"},
           {"instructions", "How full is it?"},
           {"criteria", {"empty", "half full", {{"level", "full"}}}}},
          noul,
          many,
          {{"type", "noul"}, {"criteria", {{"true", "a boat lies at pier 3"}}}},
          {{"type", "choice"}, {"criteria", {{"only", nullptr}}}}};
}

json Body(json questions) {
  return {{"state", "The harbour at pier 3 is open, and two blue boats lie there. 日本語 🎉"},
          {"questions", std::move(questions)}};
}

/// The question's answer, as bytes, without its label mass.
std::string Answer(const BatchRun& run, std::size_t line, const std::string& id) {
  json answer = run.Body(line).at("answers").at(id);
  answer.erase("x_label_mass");
  return answer.dump();
}

class DecisionBits : public ::testing::TestWithParam<std::pair<int, std::string>> {
 protected:
  DecisionBits() { WriteFile(model_ / "decision_template.txt", kTemplate); }

  BatchCommand CommandWith(const std::vector<std::string>& flags) const {
    return {model_, flags, GetParam().first, GetParam().second};
  }

  const std::filesystem::path model_ = MakeModel("ignore-merges", /*positions=*/2048);
};

TEST_P(DecisionBits, WhateverElseIsAskedAndHowever) {
  const std::vector<json> questions = Questions();
  const std::size_t count = questions.size();
  json all;
  json turned;  // Ids are sorted, so the last question comes first.
  json crowd;
  for (std::size_t i = 0; i < count; ++i) {
    all["q" + std::to_string(i)] = questions[i];
    turned["id " + std::to_string(count - i)] = questions[i];
    crowd["other " + std::to_string(700 + i) + " mine"] = questions[i];
  }
  for (int i = 0; crowd.size() < 1000; ++i) {
    crowd["other " + std::to_string(i)] = {
        {"type", "noul"}, {"instructions", "Does boat " + std::to_string(i) + " sail?"}};
  }
  std::vector<EndpointRequest> requests = {ToSystemOne(Body(all)), ToSystemOne(Body(turned)),
                                           ToSystemOne(Body(crowd)), ToSystemOne(Body(all))};
  requests[1].body["x_label_mass"] = true;
  for (const json& question : questions) {
    requests.push_back(ToSystemOne(Body({{"alone", question}})));
  }

  const BatchRun run = RunRequests(CommandWith({}), requests, Transport::kBatch);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (std::size_t i = 0; i < count; ++i) {
    SCOPED_TRACE(questions[i]);
    const std::string answer = Answer(run, 0, "q" + std::to_string(i));
    EXPECT_EQ(Answer(run, 1, "id " + std::to_string(count - i)), answer) << "other ids and order";
    EXPECT_EQ(Answer(run, 2, "other " + std::to_string(700 + i) + " mine"), answer) << "in a crowd";
    EXPECT_EQ(Answer(run, 3, "q" + std::to_string(i)), answer) << "cached";
    EXPECT_EQ(Answer(run, 4 + i, "alone"), answer);
  }
  EXPECT_EQ(Answer(run, 0, "q3"), Answer(run, 0, "q0")) << "equal texts";
  EXPECT_NE(Answer(run, 0, "q5"), Answer(run, 0, "q0"));

  const BatchRun small = RunRequests(CommandWith({"--max-batch-tokens", "64", "--threads", "3"}),
                                     requests, Transport::kBatch);
  ASSERT_EQ(small.exit_code, 0) << small.err;
  EXPECT_EQ(small.Stable(), run.Stable()) << "in small passes";
}

TEST_P(DecisionBits, OverEveryTransport) {
  json all;
  for (const json& question : Questions()) {
    all["q" + std::to_string(all.size())] = question;
  }
  const std::vector<EndpointRequest> requests = {
      ToSystemOne(Body(all)),
      ToSystemOne({{"state", {{"harbour", {{"pier", 3}}}}}, {"questions", all}}),
      ToSystemOne({{"state", ""}, {"questions", {{"q", {{"type", "box"}}}}}})};
  const BatchRun batch = RunRequests(CommandWith({}), requests, Transport::kBatch);
  const BatchRun socket = RunRequests(CommandWith({}), requests, Transport::kSocket);
  const BatchRun http = RunThroughHttp(CommandWith({}), requests);
  EXPECT_EQ(batch.exit_code, 3) << "one is refused: " << batch.err;
  ASSERT_EQ(batch.lines.size(), requests.size());
  EXPECT_EQ(batch.StatusCode(0), 200) << batch.lines[0];
  EXPECT_EQ(batch.StatusCode(1), 200) << batch.lines[1];
  EXPECT_EQ(batch.StatusCode(2), 400) << batch.lines[2];
  EXPECT_EQ(http.Stable(), batch.Stable());
  ASSERT_EQ(socket.lines.size(), requests.size());
  EXPECT_EQ(socket.Stable(0), batch.Stable(0));
  EXPECT_EQ(socket.Stable(1), batch.Stable(1));
  // A message has an error's values without the dialect of the endpoint's bodies.
  EXPECT_EQ(socket.Body(2).at("message"), batch.Body(2).at("detail").at("message"));
}

INSTANTIATE_TEST_SUITE_P(Ranks, DecisionBits,
                         ::testing::Values(std::pair{0, "f32"}, std::pair{2, "bf16"},
                                           std::pair{3, "int8"}),
                         [](const auto& test) {
                           return std::to_string(std::max(1, test.param.first)) + "_" +
                                  test.param.second;
                         });

}  // namespace decision_bits_test
}  // namespace scorecast::testing
