// Template files: what they may contain, and that every mistake is one line that says what is
// wrong.

#include "coordinator/rerank/rerank_template.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/rerank/built_in_templates.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace rerank_template_test {

using ::testing::HasSubstr;

std::string FaultOf(const std::string& text) {
  try {
    ParseRerankTemplate(text, "t", "dir/t.txt");
  } catch (const proto::StartupError& error) {
    return error.what();
  }
  return "none";
}

const std::string kRest = "true: \"yes\"\nscore: true\n";

TEST(RerankTemplate, ReadsAllKeys) {
  const RerankTemplate read = ParseRerankTemplate(
      "# a comment\n\n"
      "control: [\"<a>\", \"<b>\"]\r\n"
      "model_type: [\"qwen3\"]\n"
      "model_name: [\"name\"]\n"
      "default: true\n"
      "instruction: \"Find: \\\"it\\\"\"\n"
      "  prompt: \"<a>{if instruction}{instruction}\\n{end}\"\n"
      "prompt: \"{{{query}}}:{document}<b>\"\n"
      "true: [\" yes\", \"yes\"]\n"
      "false: 7\n"
      "score: sigmoid(true - false)\n",
      "name", "file");
  EXPECT_EQ(read.name, "name");
  EXPECT_EQ(read.default_instruction, "Find: \"it\"");
  EXPECT_EQ(read.model_names, std::vector<std::string>{"name"});
  EXPECT_TRUE(read.is_default);
  EXPECT_EQ(read.control_tokens, (std::vector<std::string>{"<a>", "<b>"}));
  EXPECT_EQ(std::get<std::vector<std::string>>(read.true_label),
            (std::vector<std::string>{" yes", "yes"}));
  EXPECT_EQ(std::get<proto::TokenId>(*read.false_label), 7);
  ASSERT_EQ(read.pieces.size(), 1u);
  const TemplateText& piece = read.pieces.front();
  ASSERT_EQ(piece.size(), 8u);
  EXPECT_EQ(piece[0].text, "<a>");
  EXPECT_EQ(piece[1].place, "instruction");
  EXPECT_EQ(piece[1].condition, "instruction");
  EXPECT_EQ(piece[2].text, "\n");
  EXPECT_EQ(piece[2].condition, "instruction");
  EXPECT_EQ(piece[3].text, "{");
  EXPECT_EQ(piece[3].condition, "");
  EXPECT_EQ(piece[4].place, "query");
  EXPECT_EQ(piece[5].text, "}:");
  EXPECT_EQ(piece[6].place, "document");
  EXPECT_EQ(piece[7].text, "<b>");
}

TEST(RerankTemplate, PiecesStayApart) {
  const RerankTemplate read = ParseRerankTemplate(
      "piece: \"{query}\"\npiece: \"\\n\"\npiece: \"{document}\"\n" + kRest, "t", "f");
  EXPECT_EQ(read.pieces.size(), 3u);
}

TEST(RerankTemplate, MistakesAreOneLineThatNamesFileAndLine) {
  const std::string prompt = "prompt: \"{query} {document}\"\n";
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"hello\n", "dir/t.txt:1: a line must be"},
      {prompt + "color: \"red\"\n" + kRest, "dir/t.txt:2: unknown key \"color\""},
      {prompt + kRest + "score: true\n", "dir/t.txt:4: score is given twice"},
      {prompt + kRest + "false: \"no\"\n", "dir/t.txt: false is given, but score"},
      {prompt + "true: \"yes\"\nscore: true - false\n", "dir/t.txt: false, the label's token, is"},
      {prompt + "score: true\n", "dir/t.txt: true, the label's token, is missing"},
      {prompt + "true: \"yes\"\n", "dir/t.txt: score is missing"},
      {prompt + "score: max(true, false)\n", "dir/t.txt:2: score must be"},
      {prompt + "true: -1\nscore: true\n", "dir/t.txt:2: true: \"-1\" is no token id"},
      {prompt + "true: 1.5\nscore: true\n", "dir/t.txt:2: true must be a list of strings"},
      {prompt + "true: \"\"\nscore: true\n", "dir/t.txt:2: true must be a list of strings"},
      {prompt + "true: []\nscore: true\n", "dir/t.txt:2: true must be a list of strings"},
      {"prompt: hello\n", "dir/t.txt:1: prompt must be JSON"},
      {"prompt: 1\n", "dir/t.txt:1: prompt must be a string"},
      {"prompt: \"a\\xff\"\n", "dir/t.txt:1: prompt must be JSON"},
      {"prompt: \"\xff\"\n", "dir/t.txt:1: prompt must be JSON"},
      {"prompt: \"{query}\"\n" + kRest, "dir/t.txt: the prompt has no {document}"},
      {"prompt: \"{document}\"\n" + kRest, "dir/t.txt: the prompt has no {query}"},
      {prompt + "prompt: \"{query}\"\n" + kRest, "{query} stands in the prompt twice"},
      {"piece: \"{query} {text}\"\n", "dir/t.txt:1: unknown placeholder {text}"},
      {"piece: \"{query\"\n", "dir/t.txt:1: unknown placeholder {query}"},
      {"piece: \"}\"\n", "dir/t.txt:1: a \"}\" without \"{\""},
      {"piece: \"{if instruction}{query}{end}\"\n", "{query} must not stand between"},
      {"piece: \"{if instruction}{instruction}\"\n", "{if instruction} without {end}"},
      {"piece: \"{end}\"\n", "unknown placeholder {end}"},
      {prompt + "piece: \"a\"\n" + kRest, "\"prompt\" lines or \"piece\" lines, not both"},
      {prompt + "control: \"<a>\"\n" + kRest, "dir/t.txt:2: control must be a list"},
      {prompt + "default: 1\n" + kRest, "dir/t.txt:2: default must be true or false"},
      {"", "dir/t.txt: the prompt has no {query}"},
  };
  for (const auto& [text, expected] : faults) {
    const std::string fault = FaultOf(text);
    EXPECT_THAT(fault, HasSubstr(expected)) << text;
    EXPECT_EQ(fault.find('\n'), std::string::npos);
  }
}

TEST(RerankTemplate, BuiltInOnesAreThere) {
  std::vector<std::string> names;
  for (const RerankTemplate& one : BuiltInTemplates()) {
    names.push_back(one.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"bge-reranker-v2-gemma", "contextual-rerank-v2",
                                             "mxbai-rerank-v2", "nemotron-rerank", "qwen3-reranker",
                                             "yes-no", "zerank"}));
  ASSERT_NE(FindBuiltInTemplate(kPlainTemplate), nullptr);
  EXPECT_EQ(TemplateOfFlag("zerank").formula.Text(), "sigmoid(true / 5)");
}

TEST(RerankTemplate, AFlagThatIsNeitherNameNorFileNamesAllTemplates) {
  try {
    TemplateOfFlag("qwen4");
    FAIL();
  } catch (const proto::StartupError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--rerank-template \"qwen4\" is neither a file nor one of: "
                                        "bge-reranker-v2-gemma, contextual-rerank-v2"));
  }
  EXPECT_THROW(TemplateOfFlag("./missing.txt"), proto::StartupError);
}

}  // namespace rerank_template_test
}  // namespace scorecast::coordinator
