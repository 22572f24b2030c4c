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
using ::testing::StartsWith;

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

TEST_F(GenerationConfigTest, AFileThatIsNoObjectIsNamed) {
  for (const auto& [text, fault] : std::vector<std::pair<std::string, std::string>>{
           {"", "not valid JSON at byte 1"}, {"[]", "not a JSON object"}}) {
    try {
      Load(text);
      ADD_FAILURE() << "accepted " << text;
    } catch (const StartupError& error) {
      EXPECT_THAT(error.what(), HasSubstr("generation_config.json: " + fault));
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    }
  }
}

TEST_F(GenerationConfigTest, ValuesThatCannotBeFollowedAreNoted) {
  struct Noted {
    std::string text;
    std::string message;
    std::string request_field;
    bool is_of_draws = false;
  };
  for (const Noted& noted : std::vector<Noted>{
           {R"({"temperature":"0.6"})", "temperature is \"0.6\": it must be a number from 0 to 100",
            "temperature"},
           {R"({"temperature":-1})", "temperature is -1: ", "temperature"},
           {R"({"top_p":0})", "top_p is 0: it must be a number above 0 and at most 1", "top_p"},
           {R"({"top_p":1.5})", "top_p is 1.5: ", "top_p"},
           {R"({"top_k":-2})", "top_k is -2: it must be an integer from -1 to ", "top_k"},
           {R"({"top_k":5.5})", "top_k is 5.5: ", "top_k"},
           {R"({"top_k":18446744073709551615})", "top_k is 18446744073709551615: ", "top_k"},
           {R"({"min_p":2})", "min_p is 2: it must be a number from 0 to 1", "min_p"},
           {R"({"repetition_penalty":0})", "repetition_penalty is 0: ", "repetition_penalty"},
           {R"({"max_new_tokens":0})", "max_new_tokens is 0: ", "max_tokens"},
           {R"({"eos_token_id":"2"})", "eos_token_id is \"2\": ", "ignore_eos"},
           {R"({"num_beams":4})", "num_beams is 4: beam search is not supported", ""},
           {R"({"penalty_alpha":0.6})", "penalty_alpha is 0.6: ", ""},
           {R"({"bad_words_ids":[[1]]})", "bad_words_ids is a list: ", "bad_words"},
           {R"({"suppress_tokens":[1]})", "suppress_tokens is a list: ", ""},
           {R"({"forced_eos_token_id":2})", "forced_eos_token_id is 2: ", ""},
           {R"({"min_new_tokens":5})", "min_new_tokens is 5: ", "min_tokens"},
           {R"({"stop_strings":["."]})", "stop_strings is a list: ", "stop"},
           {R"({"encoder_repetition_penalty":1.2})", "encoder_repetition_penalty is 1.2: ", ""},
           {R"({"typical_p":0.9})", "typical_p is 0.9: ", "", true}}) {
    const GenerationConfig config = Load(noted.text);
    ASSERT_EQ(config.unsupported.size(), 1U) << noted.text;
    const GenerationConfig::Unsupported& one = config.unsupported[0];
    EXPECT_THAT(one.Text(), StartsWith(noted.message));
    EXPECT_EQ(one.request_field, noted.request_field);
    EXPECT_EQ(one.is_of_draws, noted.is_of_draws);
    GenerationConfig others = config;
    others.unsupported.clear();
    EXPECT_EQ(others, GenerationConfig()) << noted.text;
  }
}

TEST_F(GenerationConfigTest, ValuesThatChangeNothingAreNotNoted) {
  EXPECT_EQ(Load(R"({"num_beams":1,"do_sample":false,"penalty_alpha":null,"typical_p":1.0,)"
                 R"("no_repeat_ngram_size":0,"suppress_tokens":[],"max_length":4096,)"
                 R"("early_stopping":true,"use_cache":false,"pad_token_id":0,"guidance_scale":1,)"
                 R"("eos_token_id":[2,1000000000],"unknown":{"a":1}})"),
            GenerationConfig());
}

TEST_F(GenerationConfigTest, ItsRefusalsMayBeOverridden) {
  std::ofstream(dir_ / "generation_config.json") << R"({"num_beams":4,"top_p":7})";
  const std::vector<IgnoredKey> ignored = {{"generation_config.json", "num_beams"}};
  const GenerationConfig config = LoadGenerationConfig(dir_, ignored);
  ASSERT_EQ(config.unsupported.size(), 1U);
  EXPECT_EQ(config.unsupported[0].key, "top_p");
}

}  // namespace generation_config_test
}  // namespace scorecast::proto
