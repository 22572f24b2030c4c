#include "proto/model/generation_config.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "proto/base/error.h"

namespace scorecast::proto {
namespace generation_config_test {

using ::testing::HasSubstr;
using ::testing::Not;

class GenerationConfigTest : public ::testing::Test {
 protected:
  GenerationConfigTest() { std::filesystem::create_directory(dir_); }
  ~GenerationConfigTest() override { std::filesystem::remove_all(dir_); }

  GenerationConfig Load(const std::string& text) const {
    std::ofstream(dir_ / "generation_config.json") << text;
    return LoadGenerationConfig(dir_);
  }

  const std::filesystem::path dir_ = std::filesystem::path(::testing::TempDir()) /
                                     ("scorecast-generation-" + std::to_string(::getpid()));
};

TEST_F(GenerationConfigTest, HasWhatTheFileNames) {
  EXPECT_EQ(LoadGenerationConfig(dir_), GenerationConfig()) << "without a file";
  EXPECT_EQ(Load(R"({"do_sample":true,"eos_token_id":[1,2]})"), GenerationConfig());
  EXPECT_EQ(Load(R"({"temperature":0.6,"top_p":0.95,"top_k":20,"min_p":null,"max_new_tokens":2048,)"
                 R"("repetition_penalty":1.05,"transformers_version":"4.51.0"})"),
            (GenerationConfig{.temperature = 0.6,
                              .top_p = 0.95,
                              .top_k = 20,
                              .repetition_penalty = 1.05,
                              .max_new_tokens = 2048}));
  EXPECT_EQ(Load(R"({"temperature":0,"top_p":1,"top_k":0,"min_p":0})"),
            (GenerationConfig{.temperature = 0, .top_p = 1, .top_k = 0, .min_p = 0}));
}

TEST_F(GenerationConfigTest, SaysWhatItHas) {
  EXPECT_EQ(Describe(GenerationConfig()), "");
  EXPECT_EQ(Describe(Load(R"({"top_k":20,"temperature":0.6,"max_new_tokens":2048})")),
            "temperature 0.6, top_k 20, max_new_tokens 2048");
}

TEST_F(GenerationConfigTest, AFaultIsOneLineThatNamesTheField) {
  for (const auto& [text, fault] : std::vector<std::pair<std::string, std::string>>{
           {"", "not valid JSON at byte 1"},
           {"[]", "not a JSON object"},
           {R"({"temperature":"0.6"})",
            "temperature is \"0.6\": it must be a number from 0 to 100"},
           {R"({"temperature":-1})", "temperature is -1"},
           {R"({"top_p":0})", "top_p is 0: it must be a number above 0 and at most 1"},
           {R"({"top_p":1.5})", "top_p is 1.5"},
           {R"({"top_k":-2})", "top_k is -2"},
           {R"({"top_k":5.5})", "top_k is 5.5"},
           {R"({"min_p":2})", "min_p is 2: it must be a number from 0 to 1"},
           {R"({"repetition_penalty":0})", "repetition_penalty is 0"},
           {R"({"max_new_tokens":0})", "max_new_tokens is 0"}}) {
    try {
      Load(text);
      ADD_FAILURE() << "accepted " << text;
    } catch (const StartupError& error) {
      EXPECT_THAT(error.what(), HasSubstr("generation_config.json: " + fault));
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    }
  }
}

}  // namespace generation_config_test
}  // namespace scorecast::proto
