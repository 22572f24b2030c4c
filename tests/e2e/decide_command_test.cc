// `scorecast decide`, the command-line client.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/deciding.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace decide_command_test {

using nlohmann::json;
using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

void ExpectFault(const ProcessResult& result, const std::string& part) {
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(LinesOf(result.err), ElementsAre(HasSubstr("scorecast: "))) << result.err;
  EXPECT_THAT(result.err, HasSubstr(part));
}

std::string NewFile(const std::string& text) {
  const std::filesystem::path file = NewDirectory() / "file";
  WriteFile(file, text);
  return file.string();
}

std::vector<std::string> Decide(const Service& server, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"decide", "--connect", server.address()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(DecideCommand, PrintsAnswersInTheOrderOfTheCommandLineOrJson) {
  const Service server(Deciding());
  std::vector<std::string> arguments =
      Decide(server, {"--choice", "7=10,20,30", "--state", NewFile("12\n"), "--question", "--8?",
                      "--score", "9=1,2", "--choice", "6=1,2"});
  const ProcessResult lines = RunScorecast(arguments);
  EXPECT_EQ(lines.exit_code, 0) << lines.err;
  const std::string option = "  [ >] [ 0-9][ 0-9][0-9]\\.[0-9] % [^0-9a-z]*";
  EXPECT_THAT(
      LinesOf(lines.out),
      ElementsAre("choice  7", MatchesRegex(option + "10"), MatchesRegex(option + "20"),
                  MatchesRegex(option + "30"), MatchesRegex("    confidence [0-9.]+ %"), "",
                  "noul    --8?", MatchesRegex(option + "true"), MatchesRegex(option + "false"), "",
                  "score   9", MatchesRegex(option + "0 1"), MatchesRegex(option + "1 2"),
                  MatchesRegex("    score [0-9.]+, confidence [0-9.]+ %"), "", "choice  6",
                  MatchesRegex(option + "1"), MatchesRegex(option + "2"),
                  MatchesRegex("    confidence [0-9.]+ %")));

  arguments.emplace_back("--json");
  const ProcessResult body = RunScorecast(arguments);
  ASSERT_EQ(body.exit_code, 0) << body.err;
  // The same as a body, whose state is JSON, in a file.
  const std::string input = R"({"state":"12","questions":{
      "7":{"type":"choice","instructions":"7","criteria":{"10":null,"20":null,"30":null}},
      "--8?":{"type":"noul","instructions":"--8?"},
      "9":{"type":"score","instructions":"9","criteria":["1","2"]},
      "6":{"type":"choice","instructions":"6","criteria":{"1":null,"2":null}}}})";
  const ProcessResult of_file = RunScorecast(Decide(server, {"--input", NewFile(input), "--json"}));
  EXPECT_EQ(of_file.exit_code, 0) << of_file.err;
  EXPECT_EQ(of_file.out, body.out);
  EXPECT_EQ(RunScorecast(Decide(server, {"--input", "-"}), 0, input).out, lines.out);
  const ordered_json answers = ordered_json::parse(body.out).at("answers");
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers.begin().key(), "7");
  double sum = 0;
  for (const double probability : answers.at("7").at("probabilities")) {
    sum += probability;
  }
  EXPECT_NEAR(sum, 1, 1e-12) << "nothing is rounded";
}

TEST(DecideCommand, StatesAndOptionsBecomeThoseOfTheRequest) {
  const Service server(Deciding());
  const std::vector<std::string> question = {"--choice", "7=1,2", "--json"};
  const auto answer = [&](std::vector<std::string> flags, const std::string& input) {
    flags.insert(flags.end(), question.begin(), question.end());
    const ProcessResult result = RunScorecast(Decide(server, flags), 0, input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out).at("answers").at("7");
  };
  const auto body_answer = [&](const std::string& members) {
    const ProcessResult result =
        RunScorecast(Decide(server, {"--input", "-", "--json"}), 0,
                     R"({"questions":{"7":{"type":"choice","instructions":"7",)"
                     R"("criteria":{"1":null,"2":null}}},)" +
                         members + "}");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out).at("answers").at("7");
  };
  const json text = body_answer(R"("state":"{\"b\": 1, \"a\": 2}")");
  const json object = body_answer(R"("state":{"b":1,"a":2})");
  EXPECT_NE(text, object);
  EXPECT_EQ(answer({"--state", "-"}, "{\"b\": 1, \"a\": 2}\n"), text);
  EXPECT_EQ(answer({"--state-json", "-"}, "{\"b\": 1, \"a\": 2}\n"), object);
  // The numbers are those of Python's json.dumps.
  const json numbers = body_answer(R"("state":"{\"a\":0.01207,\"b\":1732800000000000.0}")");
  const std::string same = R"({"a": 1.2070e-2, "b": 17328e11})";
  EXPECT_EQ(answer({"--state-json", "-"}, same), numbers);
  EXPECT_EQ(body_answer(R"("state":)" + same), numbers);
  EXPECT_EQ(answer({"--state", "-", "--x-orders", "2", "--x-label-mass"}, "12"),
            body_answer(R"("state":"12","x_orders":2,"x_label_mass":true)"));
  EXPECT_EQ(answer({"--state", "-", "--instructions", "7=9 9"}, "12").size(), 4U);
  EXPECT_NE(answer({"--state", "-", "--instructions", "7=9 9"}, "12"),
            answer({"--state", "-"}, "12"));
}

TEST(DecideCommand, PrintsFaultsInOneLine) {
  const Service server(Deciding());
  const std::string state = NewFile("12");
  const auto expect = [&](const std::vector<std::string>& flags, const std::string& part) {
    ExpectFault(RunScorecast(Decide(server, flags)), part);
  };
  expect({"--state", state}, "there are no questions");
  expect({"--question", "1"}, "exactly one of these is needed: --state");
  expect({"--state", state, "--state-json", state, "--question", "1"}, "--state-json");
  expect({"--state", "/nonexistent", "--question", "1"}, "cannot read /nonexistent: No such file");
  expect({"--state", "/", "--question", "1"}, "cannot read /: Is a directory");
  expect({"--state-json", NewFile("12"), "--question", "1"},
         ": a state is an object, a list or a string");
  expect({"--state-json", NewFile("{"), "--question", "1"}, ": The request is not JSON");
  expect({"--state-json", NewFile(R"({"a":1,"a":2})"), "--question", "1"}, "\"a\" twice");
  expect({"--state", state, "--choice", "team"}, "--choice \"team\" is not ID=OPTION");
  expect({"--input", NewFile("{}"), "--question", "1"}, "--input has the whole request");
  expect({"--input", NewFile(R"({"state":"x"})")}, "questions");
  expect({"--state", state, "--question", "1", "--x-orders", "3"}, "400 x_orders_out_of_range: ");
  expect({"--state", state, "--score", "7=1,2", "--x-orders", "2"}, "questions.7");
}

TEST(DecideCommand, SaysWhyAServerDoesNotDecide) {
  const Service server({MakeClassifier(2, "digits"), {}});
  ExpectFault(RunScorecast(Decide(server, {"--state", NewFile("12"), "--question", "3"})),
              "400 no_decider: ");
}

}  // namespace decide_command_test
}  // namespace scorecast::testing
