#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/model/model_config.h"
#include "tests/proto/model/config_json.h"

namespace scorecast::proto {
namespace config_fields_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ConfigFieldsTest, MissingFieldsAreNamed) {
  for (const char* name : {"hidden_size", "num_hidden_layers", "num_attention_heads",
                           "intermediate_size", "vocab_size"}) {
    EXPECT_THAT(ErrorOf(Without(Llama(), name)), HasSubstr(std::string(name) + " is missing"));
  }
}

TEST(ConfigFieldsTest, SizesOutOfRangeAreNamed) {
  for (const char* name :
       {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
        "head_dim", "intermediate_size", "vocab_size", "max_position_embeddings"}) {
    for (const Json& value : {Json(0), Json(-1), Json(2147483648U), Json(9223372036854775807),
                              Json(18446744073709551615U), Json(3.5), Json("48"), Json(true),
                              Json::array({48}), Json(1e300)}) {
      EXPECT_THAT(ErrorOf(With(Llama(), name, value)), HasSubstr(std::string(name) + " is "))
          << value;
    }
  }
  EXPECT_THAT(ErrorOfText(R"({"model_type":"llama","hidden_size":99999999999999999999})"),
              HasSubstr("hidden_size is "));
  EXPECT_THAT(ErrorOf(With(Llama(), "vocab_size", 0)), HasSubstr("vocab_size is 0"));
}

TEST(ConfigFieldsTest, HeadsThatDoNotDivideAreRefusedWithBothNumbers) {
  EXPECT_THAT(
      ErrorOf(With(Llama(), "num_key_value_heads", 4)),
      AllOf(HasSubstr("num_attention_heads is 6"), HasSubstr("num_key_value_heads, which is 4")));
  EXPECT_THAT(ErrorOf(With(Llama(), "num_key_value_heads", 12)), HasSubstr("which is 12"));
  // Qwen3's default of 32 K/V heads does not suit six query heads.
  EXPECT_THAT(ErrorOf(Without(Qwen3(), "num_key_value_heads")), HasSubstr("which is 32"));
}

TEST(ConfigFieldsTest, AnOddHeadDimIsRefused) {
  EXPECT_THAT(ErrorOf(With(Llama(), "head_dim", 7)), HasSubstr("head_dim is 7"));
  EXPECT_THAT(ErrorOf(With(Llama(), "hidden_size", 18)), HasSubstr("head_dim is 3"));
  EXPECT_THAT(ErrorOf(With(Llama(), "hidden_size", 6)),
              HasSubstr("head_dim (hidden_size / num_attention_heads) is 1"));
  EXPECT_THAT(ErrorOf(With(Qwen3(), "head_dim", nullptr)), HasSubstr("head_dim is null"));
}

TEST(ConfigFieldsTest, NumbersAndFlagsOfTheWrongKindAreNamed) {
  for (const Json& value : {Json(0), Json(-1e-6), Json("1e-6"), Json(nullptr)}) {
    EXPECT_THAT(ErrorOf(With(Llama(), "rms_norm_eps", value)), HasSubstr("rms_norm_eps is "));
    EXPECT_THAT(ErrorOf(With(Llama(), "rope_theta", value)), HasSubstr("rope_theta is "));
  }
  for (const char* name : {"attention_bias", "mlp_bias", "tie_word_embeddings"}) {
    for (const Json& value : {Json(1), Json("true"), Json(nullptr)}) {
      EXPECT_THAT(ErrorOf(With(Llama(), name, value)), HasSubstr(std::string(name) + " is "));
    }
  }
  EXPECT_THAT(ErrorOf(With(Qwen3(), "use_sliding_window", "no")),
              HasSubstr("use_sliding_window is \"no\""));
}

TEST(ConfigFieldsTest, TextThatIsNoJsonObjectIsRefused) {
  EXPECT_THAT(ErrorOfText(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOfText("{\"hidden_size\": 4"), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(ErrorOfText("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOfText("{\"model_type\":\"\xff\"}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOfText("{\"rope_theta\": 1e400}"),
              HasSubstr("config.json: a number is too large"));
  // A zero byte does not end the text.
  EXPECT_THAT(ErrorOfText(Llama().dump() + std::string("\0{", 2)), HasSubstr("not valid JSON"));
}

TEST(ConfigFieldsTest, MessagesStayOneShortLineWhateverTheFileSays) {
  const std::string hostile = "x\n\x1b[31m" + std::string(100000, 'y');
  EXPECT_THAT(ErrorOf(With(Llama(), "hidden_act", hostile)), HasSubstr("\"x\\x0a\\x1b[31m"));
  ErrorOf(With(Llama(), "architectures", {hostile}));
  ErrorOf(With(Llama(), "model_type", hostile));
  ErrorOf(With(Llama(), "rope_scaling", {{hostile, 1}}));
  ErrorOf(With(Llama(), "dtype", {hostile}));
  // Nested so deeply that a recursive parser would overflow the stack.
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  std::string text = Llama().dump();
  text.pop_back();
  EXPECT_THAT(ErrorOfText(text + ",\"hidden_act\":" + deep + "}"),
              HasSubstr("hidden_act is a list"));
  EXPECT_NO_THROW(ParseModelConfig(text + ",\"unknown\":" + deep + "}", "x"));
}

}  // namespace config_fields_test
}  // namespace scorecast::proto
