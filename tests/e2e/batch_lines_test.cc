// Lines of a batch file: which are requests, which get an error record, the order of the output,
// and the exit code.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace batch_lines_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const json kGood = {{"query", {1, 2}}, {"items", {{3}, {4, 5}}}, {"label_token_ids", {1, 2}}};

json Line(const json& custom_id, const std::string& url = "/v1/score") {
  return {{"custom_id", custom_id}, {"method", "POST"}, {"url", url}, {"body", kGood}};
}

BatchCommand Alone() { return {MakeModel(""), {"--multi-item-scoring-delimiter", "7"}}; }

void ExpectErrorRecord(const json& record, const json& custom_id, int code, int line,
                       const std::string& message) {
  SCOPED_TRACE(record.dump());
  EXPECT_EQ(record.at("custom_id"), custom_id);
  EXPECT_TRUE(record.at("response").is_null());
  EXPECT_EQ(record.at("error").at("code"), code);
  EXPECT_EQ(record.at("error").at("line"), line);
  EXPECT_THAT(record.at("error").at("message").get<std::string>(), HasSubstr(message));
}

TEST(BatchLines, ALineThatIsNoRequestGetsAnErrorRecordWithItsNumber) {
  struct Bad {
    std::string line;
    json custom_id;
    int code;
    std::string message;
  };
  json no_body = Line("no body");
  no_body.erase("body");
  json no_id = Line("x");
  no_id.erase("custom_id");
  json get = Line("get");
  get["method"] = "GET";
  json no_url = Line("no url");
  no_url.erase("url");
  const std::vector<Bad> bad = {
      {"not JSON", nullptr, 400, "not JSON"},
      {"{\"custom_id\":\"a\",", nullptr, 400, "not JSON"},
      {"[1,2]", nullptr, 400, "custom_id"},
      {"null", nullptr, 400, "custom_id"},
      {"{\"custom_id\":\"inf\",\"method\":\"POST\",\"url\":\"/v1/"
       "score\",\"body\":{\"temperature\":1e999}}",
       nullptr, 400, ""},
      {"{\"custom_id\":\"nan\",\"method\":\"POST\",\"url\":\"/v1/"
       "score\",\"body\":{\"temperature\":NaN}}",
       nullptr, 400, "not JSON"},
      {"{\"custom_id\":\"\xff\xfe\"}", nullptr, 400, "UTF-8"},
      {std::string(50000, '['), nullptr, 400, "deep"},
      {std::string("{\"custom_id\":\"zero\"}\0", 21), nullptr, 400, ""},
      {no_id.dump(), nullptr, 400, "custom_id"},
      {Line(7).dump(), nullptr, 400, "custom_id"},
      {Line("unknown", "/v1/nothing").dump(), "unknown", 400, "/v1/nothing"},
      {Line("slash", "/v1/score/").dump(), "slash", 400, "/v1/score/"},
      {no_url.dump(), "no url", 400, "url"},
      {get.dump(), "get", 400, "POST"},
      {Line(std::string(200000, 'x')).dump(), nullptr, 413, "100000 bytes"},
  };
  std::string input;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    input += bad[i].line + "\n" + Line("good " + std::to_string(i)).dump() + "\n";
  }
  BatchCommand command = Alone();
  command.flags.insert(command.flags.end(), {"--max-request-bytes", "100000"});
  const BatchRun run = RunBatchText(command, input);
  EXPECT_EQ(run.exit_code, 3) << run.err;
  ASSERT_EQ(run.lines.size(), 2 * bad.size());
  for (std::size_t i = 0; i < bad.size(); ++i) {
    ExpectErrorRecord(run.Record(2 * i), bad[i].custom_id, bad[i].code, static_cast<int>(2 * i + 1),
                      bad[i].message);
    EXPECT_EQ(run.Record(2 * i + 1).at("custom_id"), "good " + std::to_string(i));
    EXPECT_EQ(run.StatusCode(2 * i + 1), 200);
  }
}

TEST(BatchLines, ARefusedRequestIsAResponse) {
  json no_body = Line("no body");
  no_body.erase("body");
  json list = Line("list");
  list["body"] = {1, 2};
  const std::string input = no_body.dump() + "\n" + list.dump() + "\n";
  const BatchRun run = RunBatchText(Alone(), input);
  EXPECT_EQ(run.exit_code, 3);
  BatchCommand command = Alone();
  command.flags.emplace_back("--ok-with-refusals");
  EXPECT_EQ(RunBatchText(command, input).exit_code, 0);
  ASSERT_EQ(run.lines.size(), 2U);
  for (const std::size_t line : {0, 1}) {
    EXPECT_TRUE(run.Record(line).at("error").is_null());
    EXPECT_EQ(run.StatusCode(line), 400);
    EXPECT_EQ(run.Body(line).at("reason"), "wrong_type");
  }
}

TEST(BatchLines, MayEndInAnyUsualWay) {
  const std::string good = Line("a").dump();
  const BatchCommand command = Alone();
  const auto ids = [](const BatchRun& run) {
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::vector<std::string> result;
    for (std::size_t line = 0; line < run.lines.size(); ++line) {
      EXPECT_EQ(run.StatusCode(line), 200);
      result.push_back(run.Record(line).at("custom_id"));
    }
    return result;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids(RunBatchText(command, good)), Ids{"a"}) << "no final newline";
  EXPECT_EQ(ids(RunBatchText(command, good + "\r\n" + good + "\r\n")), (Ids{"a", "a"}));
  EXPECT_EQ(ids(RunBatchText(command, "\n  \n\t\r\n" + good + "\n\n\n")), Ids{"a"});
  EXPECT_EQ(ids(RunBatchText(command, "\xef\xbb\xbf" + good + "\n")), Ids{"a"})
      << "a byte order mark";
  EXPECT_THAT(ids(RunBatchText(command, "")), IsEmpty());
}

TEST(BatchLines, LineNumbersIncludeBlankLines) {
  const BatchRun run = RunBatchText(Alone(), "\n\nno\n");
  ASSERT_EQ(run.lines.size(), 1U);
  ExpectErrorRecord(run.Record(0), nullptr, 400, 3, "not JSON");
}

TEST(BatchLines, ResponsesAreInTheOrderOfTheInput) {
  std::string input;
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    json body = kGood;
    body["items"] = std::vector<std::vector<int>>(static_cast<std::size_t>(1 + i * 37 % 60), {9});
    const std::string id = "id \"" + std::to_string(i) + "\" é 🎉";
    expected.push_back(id);
    input += i % 29 == 0 ? Line(id, "/unknown").dump() + "\n" : ScoreLine(id, body);
  }
  BatchCommand command = Alone();
  command.flags.insert(command.flags.end(), {"--max-batch-tokens", "64"});
  const BatchRun run = RunBatchText(command, input);
  EXPECT_EQ(run.exit_code, 3);
  ASSERT_EQ(run.lines.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(run.Record(i).at("custom_id"), expected[i]);
    if (i % 29 != 0) {
      EXPECT_EQ(run.Body(i).at("scores").size(), 1 + i * 37 % 60);
    }
  }
}

TEST(BatchLines, AnOldOutputIsReplacedOnlyIfAskedFor) {
  const BatchCommand command = Alone();
  const std::filesystem::path dir = NewDirectory();
  WriteFile(dir / "in", ScoreLine("a", kGood));
  const std::string old(100000, 'x');
  WriteFile(dir / "out", old);
  std::vector<std::string> arguments = {"batch",     "--model",     command.model,
                                        "--input",   dir / "in",    "--output",
                                        dir / "out", "--log-level", "warning"};
  const ProcessResult refused = RunScorecast(arguments);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(refused.err, "scorecast: " + (dir / "out").string() +
                             " is not empty, and there is no out.state beside it from which its "
                             "run could go on: give --restart to begin anew\n");
  EXPECT_EQ(ReadFile(dir / "out"), old);
  arguments.emplace_back("--restart");
  const ProcessResult result = RunScorecast(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = LinesOf(ReadFile(dir / "out"));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(json::parse(lines[0]).at("custom_id"), "a");
}

class Streams : public ::testing::TestWithParam<int> {};

// Also, a response is written before the program waits for the next line.
TEST_P(Streams, StandardOutputHasNothingButResponses) {
  const BatchCommand command = Alone();
  Process process(ScorecastCommand(
      {"batch", "--model", command.model, "--input", "-", "--output", "-", "--log-level", "debug"},
      GetParam()));
  for (const char* id : {"first", "second"}) {
    process.Send(ScoreLine(id, kGood));
    const std::string line = process.ReadLine();
    ASSERT_THAT(line, Not(IsEmpty()));
    EXPECT_EQ(json::parse(line).at("custom_id"), id);
  }
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("score: 2 items"));
}

// One thread reads requests while another writes responses; neither may disturb the other.
TEST_P(Streams, CarryManyLinesBothWays) {
  constexpr std::size_t kLines = 3000;
  std::string input;
  for (std::size_t i = 0; i < kLines; ++i) {
    input += ScoreLine(std::to_string(i), kGood);
  }
  const ProcessResult result = RunScorecast(
      {"batch", "--model", MakeModel(""), "--input", "-", "--output", "-"}, GetParam(), input);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = LinesOf(result.out);
  ASSERT_EQ(lines.size(), kLines);
  for (std::size_t i = 0; i < kLines; ++i) {
    const json record = json::parse(lines[i], nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(record.is_object()) << lines[i];
    ASSERT_EQ(record.at("custom_id"), std::to_string(i));
    ASSERT_EQ(record.at("response").at("status_code"), 200);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Streams, ::testing::Values(0, 1, 3));

}  // namespace batch_lines_test
}  // namespace scorecast::testing
