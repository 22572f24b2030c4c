#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/model/config_fields.h"
#include "proto/model/model_config.h"
#include "tests/proto/model/config_json.h"

namespace scorecast::proto {
namespace config_rope_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RopeConfig TableOf(const Json& config) {
  const ModelConfig parsed = Parse(config);
  EXPECT_EQ(parsed.rope_tables.size(), 1U);
  return parsed.rope_tables.at(0);
}

TEST(RopeConfigTest, BothSpellingsOfRope) {
  EXPECT_EQ(RopeTheta(Parse(With(Llama(), "rope_theta", 500000))), 5e5);
  EXPECT_EQ(RopeTheta(Parse(With(Llama(), "rope_scaling", nullptr))), 1e4);
  EXPECT_EQ(RopeTheta(Parse(With(Llama(), "rope_scaling", Json::object()))), 1e4);
  EXPECT_EQ(RopeTheta(Parse(With(Llama(), "rope_scaling", {{"rope_type", "default"}}))), 1e4);
  EXPECT_EQ(RopeTheta(Parse(With(Llama(), "rope_scaling", {{"type", "default"}}))), 1e4);
  EXPECT_EQ(RopeTheta(Parse(With(Llama(), "rope_parameters", nullptr))), 1e4);
  const Json parameters = {{"rope_type", "default"}, {"rope_theta", 1e6}};
  EXPECT_EQ(RopeTheta(Parse(With(Llama(), "rope_parameters", parameters))), 1e6);
  EXPECT_EQ(RopeTheta(Parse(With(Llama(), "rope_parameters", {{"rope_theta", 1e6}}))), 1e6);
  EXPECT_EQ(
      RopeTheta(Parse(With(With(Llama(), "rope_parameters", parameters), "rope_theta", 1000000))),
      1e6);
  EXPECT_THAT(
      ErrorOf(With(With(Llama(), "rope_parameters", parameters), "rope_theta", 10000.0)),
      AllOf(HasSubstr("rope_parameters.rope_theta"), HasSubstr("1000000.0"), HasSubstr("10000.0")));
}

TEST(RopeConfigTest, OtherLayoutsAreNamed) {
  for (const char* field : {"rope_scaling", "rope_parameters"}) {
    for (const char* key : {"rope_type", "type"}) {
      for (const char* type : {"dynamic", "longrope", "su", "mrope", "proportional", "ntk"}) {
        EXPECT_THAT(ErrorOf(With(Llama(), field, {{key, type}, {"factor", 4.0}})),
                    AllOf(HasSubstr(std::string(field) + "." + key + " is \"" + type + "\""),
                          HasSubstr("supported are default, linear, llama3, yarn")));
      }
    }
    // Options without a type, and other layouts of the object.
    EXPECT_THAT(ErrorOf(With(Llama(), field, {{"factor", 4.0}})),
                HasSubstr(std::string(field) + ".factor is 4.0"));
    EXPECT_THAT(ErrorOf(With(Llama(), field, {{"full_attention", {{"rope_theta", 1e6}}}})),
                HasSubstr(std::string(field) + ".full_attention is an object"));
    EXPECT_THAT(ErrorOf(With(Llama(), field, {{"partial_rotary_factor", 0.5}})),
                HasSubstr("partial_rotary_factor is 0.5"));
    EXPECT_THAT(ErrorOf(With(Llama(), field, {{"rope_theta", "x"}})),
                HasSubstr(std::string(field) + ".rope_theta is \"x\""));
    EXPECT_THAT(ErrorOf(With(Llama(), field, 2)), HasSubstr(std::string(field) + " is 2"));
  }
}

TEST(RopeConfigTest, Linear) {
  const RopeConfig expected{.type = RopeType::kLinear, .theta = 5e5, .factor = 8.0};
  const Json linear = {{"rope_type", "linear"}, {"factor", 8}};
  EXPECT_EQ(TableOf(With(With(Llama(), "rope_scaling", linear), "rope_theta", 5e5)), expected);
  EXPECT_EQ(TableOf(With(With(Llama(), "rope_scaling", {{"type", "linear"}, {"factor", 8.0}}),
                         "rope_theta", 5e5)),
            expected);
  EXPECT_EQ(TableOf(With(Llama(), "rope_parameters", With(linear, "rope_theta", 5e5))), expected);
  EXPECT_THAT(ErrorOf(With(Llama(), "rope_scaling", {{"type", "linear"}})),
              HasSubstr("rope_scaling.factor is missing"));
  for (const Json& value : {Json(0), Json(-1), Json("4")}) {
    EXPECT_THAT(ErrorOf(With(Llama(), "rope_scaling", With(linear, "factor", value))),
                HasSubstr("rope_scaling.factor is "));
  }
  EXPECT_THAT(ErrorOf(With(Llama(), "rope_scaling", With(linear, "low_freq_factor", 1))),
              HasSubstr("low_freq_factor is 1: not supported with RoPE of type \"linear\""));
  Json both = With(linear, "type", "linear");
  EXPECT_NO_THROW(Parse(With(Llama(), "rope_scaling", both)));
  EXPECT_THAT(ErrorOf(With(Llama(), "rope_scaling", With(both, "type", "yarn"))),
              HasSubstr("rope_scaling.type is \"yarn\": rope_type is \"linear\""));
}

TEST(RopeConfigTest, BothObjectsMustAgree) {
  const Json linear = {{"rope_type", "linear"}, {"factor", 8}};
  Json config = With(Llama(), "rope_scaling", linear);
  EXPECT_EQ(TableOf(With(config, "rope_parameters", With(linear, "rope_theta", 5e5))),
            (RopeConfig{.type = RopeType::kLinear, .theta = 5e5, .factor = 8.0}));
  EXPECT_NO_THROW(Parse(With(config, "rope_parameters", Json::object())));
  EXPECT_THAT(ErrorOf(With(config, "rope_parameters", {{"rope_type", "default"}})),
              HasSubstr("rope_scaling and rope_parameters contradict each other"));
}

TEST(RopeConfigTest, Llama3) {
  const Json llama3 = {{"rope_type", "llama3"},
                       {"factor", 32.0},
                       {"low_freq_factor", 1.5},
                       {"high_freq_factor", 4.5},
                       {"original_max_position_embeddings", 8192}};
  const RopeConfig expected{.type = RopeType::kLlama3,
                            .factor = 32.0,
                            .original_max_position_embeddings = 8192,
                            .low_freq_factor = 1.5,
                            .high_freq_factor = 4.5};
  EXPECT_EQ(TableOf(With(Llama(), "rope_scaling", llama3)), expected);
  EXPECT_EQ(TableOf(With(Llama(), "rope_parameters", llama3)), expected);
  // The original length may stand beside the object, and is max_position_embeddings if absent.
  const Json shorter = Without(llama3, "original_max_position_embeddings");
  Json config = With(With(Llama(), "rope_scaling", shorter), "max_position_embeddings", 777);
  EXPECT_EQ(TableOf(config).original_max_position_embeddings, 777);
  config["original_max_position_embeddings"] = 99;
  EXPECT_EQ(TableOf(config).original_max_position_embeddings, 99);
  EXPECT_THAT(ErrorOf(With(config, "rope_scaling", llama3)),
              HasSubstr("original_max_position_embeddings is 99: it contradicts "
                        "rope_scaling.original_max_position_embeddings"));
  for (const char* name : {"factor", "low_freq_factor", "high_freq_factor"}) {
    EXPECT_THAT(ErrorOf(With(Llama(), "rope_scaling", Without(llama3, name))),
                HasSubstr(std::string("rope_scaling.") + name + " is missing"));
    EXPECT_THAT(ErrorOf(With(Llama(), "rope_scaling", With(llama3, name, 0))),
                HasSubstr(std::string("rope_scaling.") + name + " is 0"));
  }
  EXPECT_THAT(ErrorOf(With(Llama(), "rope_scaling", With(llama3, "high_freq_factor", 1.5))),
              HasSubstr("high_freq_factor is 1.5: it must be above low_freq_factor"));
}

TEST(RopeConfigTest, YarnExtendsTheContext) {
  const auto positions = [](std::int64_t original, double factor) {
    const Json rope = {
        {"type", "yarn"}, {"factor", factor}, {"original_max_position_embeddings", original}};
    return Parse(With(With(Qwen2(), "rope_scaling", rope), "max_position_embeddings", 512))
        .max_position_embeddings;
  };
  EXPECT_EQ(positions(512, 4.0), 2048);  // The field may be the length before scaling,
  EXPECT_EQ(positions(128, 4.0), 512);   // or the length after it,
  EXPECT_EQ(positions(64, 2.0), 512);    // or larger than that.
  EXPECT_EQ(positions(512, 1e30), kPositions.most);
}

// The attention factors are what transformers 5.23 gives for the same fields.
TEST(RopeConfigTest, Yarn) {
  const Json yarn = {{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 128}};
  const auto table = [](const Json& rope) {
    return TableOf(With(With(Qwen2(), "rope_scaling", rope), "max_position_embeddings", 512));
  };
  RopeConfig expected{.type = RopeType::kYarn,
                      .factor = 4.0,
                      .original_max_position_embeddings = 128,
                      .attention_factor = table(yarn).attention_factor};
  EXPECT_EQ(table(yarn), expected);
  EXPECT_NEAR(expected.attention_factor, 1.138629436111989, 1e-15);
  const Json no_length = Without(yarn, "original_max_position_embeddings");
  EXPECT_EQ(table(no_length).original_max_position_embeddings, 512);
  EXPECT_NEAR(table(no_length).attention_factor, 1.138629436111989, 1e-15);

  const Json ratio = With(With(yarn, "factor", nullptr), "original_max_position_embeddings", 64);
  EXPECT_EQ(table(ratio).factor, 8.0);
  EXPECT_NEAR(table(ratio).attention_factor, 1.2079441541679836, 1e-15);
  const Json forty = With(yarn, "factor", 40.0);
  EXPECT_NEAR(table(With(With(forty, "mscale", 1.0), "mscale_all_dim", 0.707)).attention_factor,
              1.0857263992561355, 1e-15);
  for (const Json& rope : {forty, With(forty, "mscale", 0.707),
                           With(With(forty, "mscale", 0.707), "mscale_all_dim", 0)}) {
    EXPECT_NEAR(table(rope).attention_factor, 1.3688879454113936, 1e-15);
  }
  EXPECT_EQ(table(With(yarn, "factor", 0.5)).attention_factor, 1.0);
  EXPECT_EQ(table(With(yarn, "attention_factor", 1.5)).attention_factor, 1.5);
  EXPECT_EQ(table(With(yarn, "attention_factor", nullptr)), expected);

  Json ends = With(With(yarn, "beta_fast", 16), "beta_slow", 2.5);
  ends["truncate"] = false;
  ends["finetuned"] = true;
  expected.beta_fast = 16;
  expected.beta_slow = 2.5;
  expected.truncate = false;
  EXPECT_EQ(table(ends), expected);
  EXPECT_EQ(table(With(yarn, "beta_fast", nullptr)).beta_fast, 32);

  EXPECT_THAT(ErrorOf(With(Qwen2(), "rope_scaling", Without(yarn, "factor"))),
              HasSubstr("rope_scaling.factor is missing"));
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, Json>>{{"factor", 0},
                                                 {"attention_factor", -1},
                                                 {"mscale", "1"},
                                                 {"beta_fast", -32},
                                                 {"truncate", 1},
                                                 {"original_max_position_embeddings", 0},
                                                 {"mrope_section", {16, 24, 24}}}) {
    EXPECT_THAT(ErrorOf(With(Qwen2(), "rope_scaling", With(yarn, name, value))),
                HasSubstr("rope_scaling." + name + " is "));
  }
}

TEST(RopeConfigTest, Gemma3HasALocalAndAGlobalTable) {
  const auto tables = [](const Json& config) { return Parse(config).rope_tables; };
  EXPECT_THAT(tables(Gemma3()), ElementsAre(RopeConfig{.theta = 1e6}, RopeConfig{.theta = 1e4}));
  Json classic = With(Gemma3(), "rope_theta", 5e5);
  classic["rope_local_base_freq"] = 2e4;
  classic["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8.0}};
  const RopeConfig global{.type = RopeType::kLinear, .theta = 5e5, .factor = 8.0};
  EXPECT_THAT(tables(classic), ElementsAre(global, RopeConfig{.theta = 2e4}));

  const Json full = {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 5e5}};
  const Json local = {{"rope_type", "default"}, {"rope_theta", 2e4}};
  const Json nested = {{"full_attention", full}, {"sliding_attention", local}};
  EXPECT_THAT(tables(With(Gemma3(), "rope_parameters", nested)),
              ElementsAre(global, RopeConfig{.theta = 2e4}));
  EXPECT_THAT(tables(With(classic, "rope_parameters", nested)),
              ElementsAre(global, RopeConfig{.theta = 2e4}));
  EXPECT_THAT(tables(With(Gemma3(), "rope_parameters", {{"full_attention", full}})),
              ElementsAre(global, RopeConfig{.theta = 1e4}));
  EXPECT_THAT(tables(With(Gemma3(), "rope_parameters",
                          {{"full_attention", nullptr}, {"sliding_attention", local}})),
              ElementsAre(RopeConfig{.theta = 1e6}, RopeConfig{.theta = 2e4}));

  EXPECT_THAT(ErrorOf(With(Gemma3(), "rope_parameters", full)),
              HasSubstr("full_attention and sliding_attention"));
  EXPECT_THAT(ErrorOf(With(Gemma3(), "rope_parameters", With(nested, "chunked_attention", full))),
              HasSubstr("rope_parameters.chunked_attention is an object"));
  Json dynamic = nested;
  dynamic["sliding_attention"]["rope_type"] = "dynamic";
  EXPECT_THAT(ErrorOf(With(Gemma3(), "rope_parameters", dynamic)),
              HasSubstr("rope_parameters.sliding_attention.rope_type is \"dynamic\""));
  EXPECT_THAT(ErrorOf(With(classic, "rope_parameters",
                           {{"sliding_attention", With(local, "rope_theta", 3e4)}})),
              HasSubstr("rope_parameters.sliding_attention.rope_theta contradicts the "
                        "rope_local_base_freq"));
}

TEST(RopeConfigTest, OtherFamiliesHaveOneTable) {
  for (const Json& config : {Llama(), Mistral(), Qwen2(), Qwen3(), Gemma(), Gemma2()}) {
    EXPECT_EQ(RopeTheta(Parse(config)), 1e4);
    EXPECT_EQ(RopeTheta(Parse(With(config, "rope_local_base_freq", 2e4))), 1e4);
  }
}

}  // namespace config_rope_test
}  // namespace scorecast::proto
