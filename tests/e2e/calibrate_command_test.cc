// `scorecast calibrate`, the command-line client.

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/json/body_members.h"
#include "launcher/client/decision_body.h"
#include "tests/e2e/deciding.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace calibrate_command_test {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

std::string ContentOf(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A noul, a choice of three, one of one and a score about a number. `labels` are their answers.
std::string Line(int state, const json& labels) {
  const json options = {{"1", nullptr}, {"2", nullptr}, {"3", nullptr}};
  const json line = {{"state", std::to_string(state)},
                     {"questions",
                      {{"n", {{"type", "noul"}, {"instructions", "3"}}},
                       {"c", {{"type", "choice"}, {"criteria", options}}},
                       {"one", {{"type", "choice"}, {"criteria", {{"1", nullptr}}}}},
                       {"s", {{"type", "score"}, {"criteria", {"1", "2"}}}}}},
                     {"labels", labels}};
  return line.dump() + "\n";
}

/// Lines with labels that mean nothing.
std::string LabelledText(int states) {
  std::string text;
  for (int i = 0; i < states; ++i) {
    text += Line(i, {{"n", true}, {"c", "1"}, {"one", "1"}, {"s", 0}});
  }
  return text;
}

/// Lines of which three in four have the model's most likely answer as their label, so that every
/// group has a temperature of least loss.
std::string TextLabelledBy(const Service& server, int states) {
  const auto client = server.Connect();
  std::string text;
  for (int i = 0; i < states; ++i) {
    json body = json::parse(Line(i, {}));
    body.erase("labels");
    v1::Request request;
    *request.mutable_systemone() =
        *launcher::ReadDecisionBody(*launcher::ParseDistinct(body.dump()));
    const v1::Response response = client->Call(request);
    json labels;
    for (int j = 0; j < response.systemone().answers_size(); ++j) {
      const v1::DecisionAnswer& answer = response.systemone().answers(j);
      const bool is_right = i % 4 != 0;
      json& label = labels[response.systemone().ids(j)];
      if (answer.type() == "noul") {
        label = (answer.noul() > 0.5) == is_right;
      } else if (answer.type() == "score") {
        label = (answer.probabilities(1) > answer.probabilities(0)) == is_right ? 1 : 0;
      } else {
        label = is_right || answer.probabilities_size() == 1
                    ? answer.choice()
                    : std::string(answer.choice() == "1" ? "2" : "1");
      }
    }
    text += Line(i, labels);
  }
  return text;
}

struct Calibrated {
  ProcessResult result;
  std::string line;
};

Calibrated Calibrate(const std::string& template_line, const std::filesystem::path& input) {
  const Service server(Deciding(template_line));
  const std::filesystem::path output = NewDirectory() / "temperature.txt";
  const ProcessResult result = RunScorecast({"calibrate", "--connect", server.address(), "--input",
                                             input.string(), "--output", output.string()});
  return {result, ContentOf(output)};
}

json TemperaturesOf(const std::string& line) {
  constexpr std::string_view kKey = "temperature: ";
  EXPECT_THAT(line, StartsWith(std::string(kKey)));
  return json::parse(line.substr(kKey.size()));
}

TEST(CalibrateCommand, FindsTheSameTemperaturesWhateverTheTemplateHas) {
  const std::filesystem::path input = NewDirectory() / "labelled.jsonl";
  WriteFile(input, TextLabelledBy(Service(Deciding()), 240));
  const Calibrated first = Calibrate("", input);
  ASSERT_EQ(first.result.exit_code, 0) << first.result.err;
  EXPECT_EQ(first.result.err, "") << "progress is for terminals";
  EXPECT_THAT(LinesOf(first.result.out).back(), "240 questions with one option counted nowhere");
  EXPECT_THAT(first.result.out, HasSubstr("choice of 2 keeps its temperature: 0 questions"));
  const json found = TemperaturesOf(first.line);
  EXPECT_EQ(found.at("choice").at("27-255"), 1);

  const Calibrated again = Calibrate("", input);
  EXPECT_EQ(again.line, first.line);
  EXPECT_EQ(again.result.out, first.result.out);

  const Calibrated scaled = Calibrate(
      R"(temperature: {"noul": 3, "choice": {"3-5": 0.5, "6-26": 7}, "score": 2})", input);
  ASSERT_EQ(scaled.result.exit_code, 0) << scaled.result.err;
  const json other = TemperaturesOf(scaled.line);
  EXPECT_EQ(other.at("choice").at("6-26"), 7) << "there are none of these questions";
  // A group without a best temperature would keep the template's.
  EXPECT_NEAR(other.at("noul"), found.at("noul"), 1e-4 * found.at("noul").get<double>());
  EXPECT_NEAR(other.at("choice").at("3-5"), found.at("choice").at("3-5"),
              1e-4 * found.at("choice").at("3-5").get<double>());
  EXPECT_NEAR(other.at("score"), found.at("score"), 1e-4 * found.at("score").get<double>());

  // The template takes the line, and has nothing to gain from another calibration.
  const Calibrated done = Calibrate(first.line, input);
  ASSERT_EQ(done.result.exit_code, 0) << done.result.err;
  EXPECT_NEAR(TemperaturesOf(done.line).at("noul"), found.at("noul"),
              1e-4 * found.at("noul").get<double>());
}

TEST(CalibrateCommand, FaultsNameTheLineAndLeaveTheOutput) {
  const Service server(Deciding());
  const std::filesystem::path directory = NewDirectory();
  const auto expect = [&](const std::string& input, const std::string& part) {
    WriteFile(directory / "output", "old");
    const ProcessResult result =
        RunScorecast({"calibrate", "--connect", server.address(), "--input", "-", "--output",
                      (directory / "output").string()},
                     0, input);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(LinesOf(result.err), ElementsAre(MatchesRegex("scorecast: .*"))) << result.err;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(ContentOf(directory / "output"), "old");
  };
  const std::string good = LabelledText(20);
  expect("", "standard input has no lines");
  expect(good + R"({"state":"1"})", "standard input, line 21: ");
  expect(good + R"({"state":"1","questions":{"q":{"type":"noul","instructions":"2"}}})",
         "standard input, line 21: labels must be an object");
  // The server refuses both; the first one is named.
  const std::string refused =
      R"({"state":"1","questions":{"q":{"type":"noul"}},"labels":{"q":true}})"
      "\n";
  expect(good + refused + refused + good, "standard input, line 21: 400 no_question: ");
  const ProcessResult unwritable =
      RunScorecast({"calibrate", "--connect", server.address(), "--input", "/nonexistent/input",
                    "--output", "/nonexistent/output"});
  EXPECT_EQ(unwritable.exit_code, 1);
  EXPECT_THAT(unwritable.err, HasSubstr("/nonexistent/output")) << "checked before all else";

  const std::filesystem::path labelled = NewDirectory() / "labelled.jsonl";
  WriteFile(labelled, "precious\n");
  const ProcessResult same = RunScorecast({"calibrate", "--connect", server.address(), "--input",
                                           labelled.string(), "--output", labelled.string()});
  EXPECT_EQ(same.exit_code, 1);
  EXPECT_THAT(same.err, HasSubstr("not the one of --input"));
  EXPECT_EQ(ReadFile(labelled), "precious\n");
}

}  // namespace calibrate_command_test
}  // namespace scorecast::testing
