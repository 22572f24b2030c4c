#include "launcher/client/labelled_lines.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace scorecast::launcher {
namespace labelled_lines_test {

using ::testing::ElementsAre;
using ::testing::EndsWith;

class LabelledLines : public ::testing::Test {
 protected:
  ~LabelledLines() override { std::filesystem::remove(file_); }

  std::vector<LabelledLine> Read(const std::string& text) const {
    std::ofstream(file_, std::ios::binary) << text;
    return ReadLabelledLines(file_);
  }
  std::string FaultOf(const std::string& text) const {
    try {
      Read(text);
    } catch (const std::runtime_error& fault) {
      return fault.what();
    }
    return "none";
  }
  /// The fault of labels to one question of each type.
  std::string FaultOfLabels(const std::string& labels) const {
    return FaultOf(R"({"state":"x","questions":{"n":{"type":"noul","instructions":"y"},)"
                   R"("c":{"type":"choice","criteria":{"a":null,"b":null}},)"
                   R"("s":{"type":"score","criteria":["l","m","h"]}},"labels":)" +
                   labels + "}");
  }

  const std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / ("labelled_lines_test." + std::to_string(getpid()));
};

TEST_F(LabelledLines, HaveRequestsAndTheIndicesOfRightOptions) {
  const std::vector<LabelledLine> lines = Read(
      R"({"state":"x","questions":{"q":{"type":"noul","instructions":"y"}},"labels":{"q":true}})"
      "\n\n"
      R"({"labels":{"s":2,"c":"b","n":false},"state":"x","questions":{)"
      R"("c":{"type":"choice","criteria":{"a":null,"b":null}},)"
      R"("s":{"type":"score","criteria":["l","m","h"]},"n":{"type":"noul","instructions":"y"}},)"
      R"("x_orders":2})");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].line_number, 1);
  EXPECT_THAT(lines[0].right, ElementsAre(0));
  EXPECT_EQ(lines[1].line_number, 3);
  EXPECT_THAT(lines[1].right, ElementsAre(1, 2, 1));
  EXPECT_EQ(lines[1].request.x_orders(), 2);
  EXPECT_EQ(lines[1].request.questions(0).key(), "c");
}

// Lines of one wording differ in few bits, and here each number stands there twice.
TEST_F(LabelledLines, AboutHalfOfThemAreHeldOutWhateverTheirLabels) {
  std::string text;
  for (int i = 0; i < 400; ++i) {
    const std::string number = std::to_string(i);
    for (const char* label : {"true", "false"}) {
      text += R"({"state":"Order )" + number +
              R"( left.","questions":{"q":{"type":"noul","instructions":"Is order )" + number +
              R"( late?"}},"labels":{"q":)" + label + "}}\n";
    }
  }
  const std::vector<LabelledLine> lines = Read(text);
  int held_out = 0;
  for (std::size_t i = 0; i < lines.size(); i += 2) {
    held_out += lines[i].is_held_out ? 1 : 0;
    EXPECT_EQ(lines[i + 1].is_held_out, lines[i].is_held_out) << "the label does not count";
  }
  EXPECT_GT(held_out, 160);  // 4 deviations of 10.
  EXPECT_LT(held_out, 240);
}

TEST_F(LabelledLines, FaultsNameTheLine) {
  EXPECT_THAT(FaultOf(""), EndsWith(" has no lines"));
  EXPECT_THAT(FaultOf("\n{"),
              EndsWith(", line 2: The request is not JSON: it ends too soon, at column 2."));
  EXPECT_THAT(FaultOf("[]"), EndsWith(", line 1: The request body must be a JSON object."));
  EXPECT_THAT(FaultOf(R"({"state":"x","questions":{},"level":1,"labels":{}})"),
              EndsWith(", line 1: level is not a field that is known."));
  EXPECT_THAT(FaultOf(R"({"state":"x","questions":{"q":{"type":"noul"},"q":{"type":"noul"}}})"),
              EndsWith("has the key \"q\" twice."));
  EXPECT_THAT(FaultOf(R"({"state":"x","questions":{}})"),
              EndsWith("line 1: labels must be an object with the right answers by question id"));
  EXPECT_THAT(FaultOf(R"({"state":"x","questions":{"q":{"type":"box"}},"labels":{"q":true}})"),
              EndsWith("questions.q.type must be noul, choice or score, not \"box\""));
  EXPECT_THAT(FaultOfLabels(R"({"n":true,"c":"a"})"), EndsWith("line 1: labels.s is missing"));
  EXPECT_THAT(FaultOfLabels(R"({"n":1,"c":"a","s":0})"),
              EndsWith("labels.n must be true or false, not 1"));
  EXPECT_THAT(FaultOfLabels(R"({"n":true,"c":"z","s":0})"),
              EndsWith("labels.c must be one of the options of the choice, not \"z\""));
  EXPECT_THAT(FaultOfLabels(R"({"n":true,"c":"a","s":3})"),
              EndsWith("labels.s must be the index of a level of the score, from 0, not 3"));
  EXPECT_THAT(FaultOfLabels(R"({"n":true,"c":"a","s":0.5})"),
              EndsWith("labels.s must be the index of a level of the score, from 0, not 0.5"));
  EXPECT_EQ(FaultOfLabels(R"({"n":true,"c":"a","s":2.0})"), "none");
  EXPECT_THAT(FaultOfLabels(R"({"n":true,"c":"a","s":0,"t":1})"),
              EndsWith("labels.t has no question"));
}

}  // namespace labelled_lines_test
}  // namespace scorecast::launcher
