#include "coordinator/decisions/decision_template.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace decision_template_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kState = "state: \"{state}\\n\\n\"\n";
const std::string kRest =
    "noul: \"{instructions}{options}\"\nchoice: \"{options}\"\nscore: \"{options}\"\n"
    "option: \"{label}\"\nlevel: \"{label}\"\noutcome: \"{label}\"\n"
    "labels.noul: [[\"yes\"],[\"no\"]]\nlabels.choice: \"A-Z\"\nlabels.score: \"0-9\"\n";

std::string FaultOf(const std::string& text) {
  try {
    ParseDecisionTemplate(text, "t", "dir/t.txt");
  } catch (const proto::StartupError& error) {
    return error.what();
  }
  return "none";
}

TEST(DecisionTemplate, ReadsAllKeys) {
  const DecisionTemplate read = ParseDecisionTemplate(
      "# a comment\n" + kState + kRest +
          "labels.many: \"AA-BC\"\nend: \"<e>\"\nend: \" \"\ntrim: true\njson: \"indent 2\"\n"
          "outcomes: \"all\"\ncontrol: [\"<e>\"]\nmodel_type: [\"qwen3\"]\nmodel_name: [\"x\"]\n"
          "chat_template: [\"a\"]\nchat_template_without: [\"b\"]\ndefault: true\n"
          "temperature: {\"noul\": 2, \"choice\": {\"2\": 1.5, \"27-255\": 3}, \"score\": 0.5}\n",
      "name", "file");
  EXPECT_EQ(read.name, "name");
  EXPECT_EQ(read.choice_labels.size(), 26U);
  EXPECT_THAT(read.many_labels, ElementsAre("AA", "AB", "AC", "BA", "BB", "BC"));
  ASSERT_EQ(read.score_labels.size(), 1U);
  EXPECT_EQ(read.score_labels[0].back(), "9");
  EXPECT_EQ(read.noul_labels[1], std::vector<std::string>{"no"});
  ASSERT_EQ(read.end.size(), 1U) << "lines of one key are one text";
  EXPECT_EQ(read.end[0].text, "<e> ");
  EXPECT_TRUE(read.trim && read.all_outcomes && read.is_default);
  EXPECT_EQ(read.json_indent, 2);
  EXPECT_EQ(read.temperatures.Of(DecisionType::kNoul, 2), 2);
  EXPECT_EQ(read.temperatures.Of(DecisionType::kScore, 4), 0.5);
  const std::vector<std::pair<std::size_t, double>> choices = {{2, 1.5}, {3, 1},  {5, 1},
                                                               {26, 1},  {27, 3}, {255, 3}};
  for (const auto& [options, temperature] : choices) {
    EXPECT_EQ(read.temperatures.Of(DecisionType::kChoice, options), temperature) << options;
  }
}

TEST(DecisionTemplate, AListOfScoreLabelsHasAlternatives) {
  std::string rest = kRest;
  rest.replace(rest.find("\"0-9\""), 5, "[\"0-9\", \"A-J\"]");
  const DecisionTemplate read = ParseDecisionTemplate(kState + rest, "t", "f");
  ASSERT_EQ(read.score_labels.size(), 2U);
  EXPECT_EQ(read.score_labels[1].front(), "A");
}

TEST(DecisionTemplate, MistakesAreOneLineThatNamesFileAndLine) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"hello\n", "dir/t.txt:1: a line must be"},
      {kState + "color: 1\n", "dir/t.txt:2: unknown key \"color\""},
      {kState, "dir/t.txt: noul is missing"},
      {"state: \"a\\n\"\n" + kRest, "state must have {state} once"},
      {"state: \"{state}\"\n" + kRest, "state must end with a line end"},
      {"state: \"{state} \"\n" + kRest, "state must end with a line end"},
      {kState + kRest + "end: \"{options}\"\n", "unknown placeholder {options}"},
      {kState + kRest + "labels.many: \"Z-A\"\n", "labels.many must be a range"},
      {kState + kRest + "labels.many: \"A-ZZ\"\n", "labels.many must be a range"},
      {kState + kRest + "json: \"indent\"\n", "json must be \"compact\" or"},
      {kState + kRest + "outcomes: \"some\"\n", "outcomes must be"},
      {kState + kRest + "temperature: {\"noul\": 0}\n", "must be a number from 0.01 to 100"},
      {kState + kRest + "temperature: {\"noul\": 1e-320}\n", "must be a number from 0.01 to 100"},
      {kState + kRest + "temperature: {\"box\": 1}\n", "unknown type \"box\""},
      {kState + kRest + "temperature: {\"choice\": {\"4\": 1}}\n", "not \"4\""},
      {kState + kRest + "temperature: 1\n", "temperature must be an object"},
      {kState + kRest + "labels.score: \"0-9\"\n", "labels.score is given twice"},
  };
  for (const auto& [text, expected] : faults) {
    const std::string fault = FaultOf(text);
    EXPECT_THAT(fault, HasSubstr(expected)) << text;
    EXPECT_EQ(fault.find('\n'), std::string::npos);
  }
}

TEST(DecisionTemplate, BuiltInOnesHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const DecisionTemplate& one : BuiltInDecisionTemplates()) {
    EXPECT_TRUE(names.insert(one.name).second);
    EXPECT_THAT(BuiltInDecisionNames(), HasSubstr(one.name));
    EXPECT_EQ(one.name.find_first_of("./"), std::string::npos) << "it would be a file";
  }
  EXPECT_EQ(names.size(), 14U);
}

}  // namespace decision_template_test
}  // namespace scorecast::coordinator
