#include "coordinator/text/files/label_names.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "proto/model/model_config.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace label_names_test {

using ::testing::ElementsAre;
using ::testing::EndsWith;

std::vector<std::string> NamesIn(const std::string& text,
                                 const proto::ModelConfig& config = {.num_labels = 2}) {
  const reference::TempDirectory directory;
  std::ofstream(directory.path() / "config.json") << text;
  return ReadLabelNames(directory.path(), config);
}

TEST(LabelNames, AreThoseOfTheConfigOrNumbers) {
  EXPECT_THAT(NamesIn("{}"), ElementsAre("LABEL_0", "LABEL_1"));
  EXPECT_THAT(NamesIn(R"({"id2label":{"1":"good"}})"), ElementsAre("LABEL_0", "good"));
}

// config.json names the classes of the architecture's own head.
TEST(LabelNames, OfModulesAreNumbers) {
  const std::string text = R"({"id2label":{"0":"bad","1":"good"}})";
  proto::ModelConfig config = {.num_labels = 1};
  config.read_head = {.steps = {{.weight = "classifier.weight", .out_features = 1}},
                      .output_size = 1};
  EXPECT_THAT(NamesIn(text, config), ElementsAre("bad"));
  config.read_head->steps.front().file = "2_Dense/model.safetensors";
  EXPECT_THAT(NamesIn(text, config), ElementsAre("LABEL_0"));
}

TEST(LabelNames, MayBeNumbers) {
  EXPECT_THAT(NamesIn(R"({"id2label":{"0":1,"1":-2}})"), ElementsAre("1", "-2"));
  EXPECT_THAT(NamesIn(R"({"id2label":{"0":0.01207,"1":1.0}})"), ElementsAre("0.01207", "1.0"));
  EXPECT_THAT(NamesIn(R"({"id2label":{"0":false,"1":true}})"), ElementsAre("False", "True"));
  EXPECT_THAT(NamesIn(R"({"id2label":{"0":null,"1":"2"}})"), ElementsAre("LABEL_0", "2"));
  try {
    NamesIn(R"({"id2label":{"0":"a","1":["b"]}})");
    FAIL() << "accepted";
  } catch (const proto::StartupError& error) {
    EXPECT_THAT(error.what(), EndsWith("config.json: id2label.1: not a string"));
  }
}

// The bound on a response's bytes counts on it.
TEST(LabelNames, HaveALimit) {
  const std::string longest(kMaxLabelBytes, 'x');
  EXPECT_THAT(NamesIn(R"({"id2label":{"0":")" + longest + R"("}})"),
              ElementsAre(longest, "LABEL_1"));
  try {
    NamesIn(R"({"id2label":{"0":"x)" + longest + R"("}})");
    FAIL() << "accepted";
  } catch (const proto::StartupError& error) {
    EXPECT_THAT(error.what(), EndsWith("config.json: id2label.0: has more than 256 bytes"));
  }
}

}  // namespace label_names_test
}  // namespace scorecast::coordinator
