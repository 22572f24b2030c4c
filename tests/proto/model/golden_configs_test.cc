#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/model/model_config.h"
#include "tests/proto/model/config_json.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_directories.h"

namespace scorecast::proto {
namespace golden_configs_test {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::UnorderedElementsAreArray;

const std::string kGoldenDir = std::string(reference::kTestsDirectory) + "/golden/families/";

ModelConfig LoadGolden(const std::string& name) { return LoadModelConfig(kGoldenDir + name); }

TEST(GoldenConfigTest, ReadsLlama) {
  const ModelConfig config = LoadGolden("llama");
  EXPECT_EQ(config.architecture, "LlamaForCausalLM");
  EXPECT_EQ(config.model_type, "llama");
  EXPECT_EQ(config.hidden_size, 48);
  EXPECT_EQ(config.num_hidden_layers(), 3);
  EXPECT_EQ(config.num_attention_heads, 6);
  EXPECT_EQ(config.num_key_value_heads, 2);
  EXPECT_EQ(config.num_query_groups(), 3);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.intermediate_size, 112);
  EXPECT_EQ(config.vocab_size, 320);
  EXPECT_EQ(config.max_position_embeddings, 512);
  EXPECT_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(RopeTheta(config), 10000.0);
  EXPECT_FALSE(config.attention_bias);
  EXPECT_FALSE(config.attention_output_bias);
  EXPECT_FALSE(config.mlp_bias);
  EXPECT_THAT(config.layers, Each(LayerConfig()));
  EXPECT_FALSE(config.tie_word_embeddings);
  EXPECT_EQ(config.dtype, "float32");
  EXPECT_EQ(config.bos_token_id, 1);
  EXPECT_THAT(config.eos_token_ids, ElementsAre(2));
}

TEST(GoldenConfigTest, ReadsQwen3) {
  const ModelConfig config = LoadGolden("qwen3");
  EXPECT_EQ(config.architecture, "Qwen3ForCausalLM");
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.num_attention_heads, 8);
  EXPECT_EQ(config.num_key_value_heads, 4);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(RopeTheta(config), 1e6);
  EXPECT_EQ(config.norm_eps, 1e-6);
  EXPECT_THAT(config.layers, Each(LayerConfig{.qk_norm = true}));
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_EQ(config.dtype, "bfloat16");
}

TEST(GoldenConfigTest, ReadsBiasesAndUnevenHeads) {
  const ModelConfig bias = LoadGolden("llama-bias");
  EXPECT_TRUE(bias.attention_bias);
  EXPECT_TRUE(bias.attention_output_bias);
  EXPECT_TRUE(bias.mlp_bias);
  const ModelConfig nine = LoadGolden("llama-nine-heads");
  EXPECT_EQ(nine.num_attention_heads, 9);
  EXPECT_EQ(nine.num_key_value_heads, 3);
  EXPECT_TRUE(nine.tie_word_embeddings);
  EXPECT_TRUE(Parse(With(Qwen3(), "attention_bias", true)).attention_output_bias);
}

TEST(GoldenConfigTest, ReadsMistral) {
  const ModelConfig config = LoadGolden("mistral");
  EXPECT_EQ(config.architecture, "MistralForCausalLM");
  EXPECT_THAT(config.layers, Each(LayerConfig{.sliding_window = 24}));
  EXPECT_FALSE(config.attention_bias);
}

TEST(GoldenConfigTest, ReadsQwen2) {
  const ModelConfig config = LoadGolden("qwen2");
  EXPECT_EQ(config.architecture, "Qwen2ForCausalLM");
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_TRUE(config.attention_bias);
  EXPECT_FALSE(config.attention_output_bias);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_EQ(RopeTheta(config), 1e6);
  EXPECT_THAT(config.layers, Each(LayerConfig()));
}

TEST(GoldenConfigTest, ReadsRopeTypes) {
  EXPECT_THAT(LoadGolden("llama-linear").rope_tables,
              ElementsAre(RopeConfig{.type = RopeType::kLinear, .factor = 4.0}));
  const RopeConfig llama3{.type = RopeType::kLlama3,
                          .theta = 500000.0,
                          .factor = 8.0,
                          .original_max_position_embeddings = 64,
                          .low_freq_factor = 1.0,
                          .high_freq_factor = 4.0};
  EXPECT_THAT(LoadGolden("llama3").rope_tables, ElementsAre(llama3));
  EXPECT_THAT(LoadGolden("llama3-classifier").rope_tables, ElementsAre(llama3));
  const ModelConfig yarn = LoadGolden("qwen2-yarn");
  ASSERT_EQ(yarn.rope_tables.size(), 1U);
  EXPECT_EQ(yarn.rope_tables[0].type, RopeType::kYarn);
  EXPECT_EQ(yarn.rope_tables[0].factor, 4.0);
  EXPECT_EQ(yarn.rope_tables[0].original_max_position_embeddings, 128);
  EXPECT_NEAR(yarn.rope_tables[0].attention_factor, 1.138629436111989, 1e-15);
}

TEST(GoldenConfigTest, ReadsGemma) {
  const ModelConfig config = LoadGolden("gemma");
  EXPECT_EQ(config.architecture, "GemmaForCausalLM");
  EXPECT_EQ(config.num_key_value_heads, 1);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_TRUE(config.norm_weights_plus_one);
  EXPECT_EQ(config.hidden_activation, Activation::kGeluTanh);
  EXPECT_EQ(config.embedding_scale, std::sqrt(48.0));
  EXPECT_THAT(config.layers, Each(LayerConfig()));
  EXPECT_THAT(config.rope_tables, ElementsAre(RopeConfig()));
}

TEST(GoldenConfigTest, ReadsGemma2) {
  for (const char* name : {"gemma2", "gemma2-classifier"}) {
    const ModelConfig config = LoadGolden(name);
    EXPECT_EQ(config.query_scale, 1.0 / std::sqrt(20.0));
    EXPECT_EQ(config.attn_logit_softcapping, 5.0);
    const LayerConfig full{.post_attention_norm = true, .post_feedforward_norm = true};
    LayerConfig sliding = full;
    sliding.sliding_window = 16;
    EXPECT_THAT(config.layers, ElementsAre(sliding, full, sliding, full));
    EXPECT_THAT(config.rope_tables, ElementsAre(RopeConfig()));
  }
  EXPECT_EQ(LoadGolden("gemma2").final_logit_softcapping, 6.0);
  EXPECT_FALSE(LoadGolden("gemma2-classifier").final_logit_softcapping.has_value());
}

TEST(GoldenConfigTest, ReadsGemma3) {
  const ModelConfig config = LoadGolden("gemma3");
  EXPECT_EQ(config.model_type, "gemma3_text");
  EXPECT_EQ(config.query_scale, 0.25);
  EXPECT_FALSE(config.attn_logit_softcapping || config.final_logit_softcapping);
  const LayerConfig full{
      .qk_norm = true, .post_attention_norm = true, .post_feedforward_norm = true};
  LayerConfig sliding = full;
  sliding.sliding_window = 16;
  sliding.rope_table = 1;
  EXPECT_THAT(config.layers, ElementsAre(sliding, sliding, full, sliding, sliding, full));
  EXPECT_THAT(config.rope_tables, ElementsAre(RopeConfig{.theta = 1e6}, RopeConfig()));
}

TEST(GoldenConfigTest, ReadsClassifiers) {
  const std::vector<std::pair<std::string, int>> labels = {{"llama3-classifier", 1},
                                                           {"qwen2-classifier", 3},
                                                           {"qwen3-classifier", 1},
                                                           {"gemma2-classifier", 2}};
  for (const auto& [name, count] : labels) {
    const ModelConfig config = LoadGolden(name);
    EXPECT_EQ(config.num_labels, count) << name;
    EXPECT_THAT(config.architecture, EndsWith("ForSequenceClassification"));
  }
}

// Without this test, a new directory could stay unused by every test.
TEST(GoldenConfigTest, EveryGoldenDirectoryIsListed) {
  std::vector<std::string> listed(reference::kGoldenFamilies.begin(),
                                  reference::kGoldenFamilies.end());
  listed.insert(listed.end(), reference::kGoldenClassifiers.begin(),
                reference::kGoldenClassifiers.end());
  std::vector<std::string> directories;
  for (const auto& entry : std::filesystem::directory_iterator(kGoldenDir)) {
    directories.push_back(entry.path().filename());
  }
  EXPECT_THAT(listed, UnorderedElementsAreArray(directories));
  for (const std::string& name : listed) {
    EXPECT_NO_THROW(LoadGolden(name)) << name;
  }
}

// What tests/golden/make/families.py drew with its seed: one K/V head, windows of 1 and of more
// than the sequences, and all spellings.
TEST(GoldenConfigTest, ReadsOddConfigurations) {
  const auto load = [](const std::string& name) {
    return LoadModelConfig(std::string(reference::kTestsDirectory) + "/golden/odd/" + name);
  };
  const ModelConfig mistral = load("mistral");
  EXPECT_EQ(mistral.num_key_value_heads, 1);
  EXPECT_THAT(mistral.layers, Each(LayerConfig{.sliding_window = 1}));
  EXPECT_THAT(mistral.rope_tables,
              ElementsAre(RopeConfig{.type = RopeType::kLinear, .theta = 5000.0, .factor = 6.97}));

  const ModelConfig qwen2 = load("qwen2");
  EXPECT_THAT(qwen2.layers,
              ElementsAre(LayerConfig(), LayerConfig(), LayerConfig{.sliding_window = 5}));
  const ModelConfig qwen3 = load("qwen3");  // Without layer_types.
  const LayerConfig sliding{.sliding_window = 13, .qk_norm = true};
  EXPECT_THAT(qwen3.layers, ElementsAre(LayerConfig{.qk_norm = true}, sliding, sliding));

  const ModelConfig gemma3 = load("gemma3");
  ASSERT_EQ(gemma3.rope_tables.size(), 2U);
  EXPECT_EQ(gemma3.rope_tables[0].type, RopeType::kYarn);
  EXPECT_FALSE(gemma3.rope_tables[0].truncate);
  EXPECT_EQ(gemma3.rope_tables[1].type, RopeType::kDefault);
  EXPECT_FALSE(gemma3.layers[0].sliding_window);
  EXPECT_EQ(gemma3.layers[1].sliding_window, 1000);
  EXPECT_EQ(gemma3.layers[1].rope_table, 1U);
  EXPECT_EQ(load("mistral-classifier").num_labels, 5);
  EXPECT_EQ(load("gemma3-classifier").num_labels, 4);
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(reference::kTestsDirectory) + "/golden/odd")) {
    EXPECT_NO_THROW(LoadModelConfig(entry.path())) << entry.path();
  }
}

}  // namespace golden_configs_test
}  // namespace scorecast::proto
