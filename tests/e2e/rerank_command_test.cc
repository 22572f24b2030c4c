// `scorecast rerank`, the command-line client.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace rerank_command_test {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;

BatchCommand Reranking() {
  const std::filesystem::path file = NewDirectory() / "template.txt";
  WriteFile(file,
            "prompt: \"{query}\\n{document}\\n\"\ntrue: 7\nfalse: 8\nscore: sigmoid(true - "
            "false)\n");
  return {MakeModel("digits"), {"--rerank-template", file.string()}};
}

void ExpectFault(const ProcessResult& result, const std::string& part) {
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(LinesOf(result.err), ::testing::ElementsAre(HasSubstr("scorecast: "))) << result.err;
  EXPECT_THAT(result.err, HasSubstr(part));
}

TEST(RerankCommand, PrintsDocumentsInOrderOrJson) {
  const Service server(Reranking());
  const std::filesystem::path file = NewDirectory() / "documents.txt";
  WriteFile(file, "34\r\n\n  \n567");
  const std::vector<std::string> arguments = {"rerank",  "--connect",   server.address(),
                                              "--query", "12",          "--document",
                                              "--8",     "--documents", file.string()};
  std::vector<std::string> with_json = arguments;
  with_json.emplace_back("--json");
  const ProcessResult body_text = RunScorecast(with_json);
  ASSERT_EQ(body_text.exit_code, 0) << body_text.err;
  const json body = json::parse(body_text.out);
  ASSERT_EQ(body.at("results").size(), 3U);
  EXPECT_TRUE(body.at("timings").contains("queue_ms"));
  const std::vector<std::string> documents = {"--8", "34", "567"};

  const ProcessResult lines = RunScorecast(arguments);
  EXPECT_EQ(lines.exit_code, 0) << lines.err;
  ASSERT_EQ(LinesOf(lines.out).size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const json& result = body.at("results")[i];
    const std::string& document = documents.at(result.at("index"));
    EXPECT_EQ(result.at("document").at("text"), document);
    EXPECT_THAT(LinesOf(lines.out)[i], EndsWith(" " + document));
    EXPECT_NEAR(std::stod(LinesOf(lines.out)[i]), result.at("relevance_score").get<double>(), 1e-4);
  }

  std::vector<std::string> best = arguments;
  best.back() = "-";
  best.insert(best.end(), {"--top-n", "1"});
  const ProcessResult one = RunScorecast(best, 0, "34\n567\n");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(LinesOf(one.out), std::vector{LinesOf(lines.out).front()});
}

TEST(RerankCommand, PrintsFaultsInOneLine) {
  const Service server(Reranking());
  std::vector<std::string> arguments = {"rerank", "--connect", server.address(), "--query", "12"};
  ExpectFault(RunScorecast(arguments), "there are no documents");
  arguments.insert(arguments.end(), {"--documents", "/nonexistent"});
  ExpectFault(RunScorecast(arguments), "cannot read /nonexistent");
  arguments.resize(arguments.size() - 2);
  arguments.insert(arguments.end(), {"--document", "3", "--top-n", "-1"});
  ExpectFault(RunScorecast(arguments), "400 top_n_out_of_range");
}

TEST(RerankCommand, SaysWhyAServerDoesNotRerank) {
  const Service server({MakeClassifier(2, "digits"), {}});
  ExpectFault(
      RunScorecast({"rerank", "--connect", server.address(), "--query", "12", "--document", "3"}),
      "400 no_reranker: ");
}

}  // namespace rerank_command_test
}  // namespace scorecast::testing
