#include "proto/model/model_config.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "proto/model/token_id.h"
#include "tests/proto/model/config_json.h"

namespace scorecast::proto {
namespace model_config_test {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ModelConfigTest, AbsentFieldsHaveTheDefaultsOfTransformers) {
  const ModelConfig llama = Parse(Without(Llama(), "num_key_value_heads"));
  EXPECT_EQ(llama.num_key_value_heads, 6);
  EXPECT_EQ(llama.head_dim, 8);
  EXPECT_EQ(llama.max_position_embeddings, 2048);
  EXPECT_EQ(llama.norm_eps, 1e-6);
  EXPECT_EQ(RopeTheta(llama), 10000.0);
  EXPECT_FALSE(llama.attention_bias || llama.attention_output_bias || llama.mlp_bias);
  EXPECT_FALSE(llama.tie_word_embeddings);
  EXPECT_EQ(llama.dtype, "");
  EXPECT_FALSE(llama.bos_token_id.has_value());
  EXPECT_THAT(llama.eos_token_ids, IsEmpty());

  Json sparse = Without(Without(Qwen3(), "num_key_value_heads"), "head_dim");
  sparse["num_attention_heads"] = 64;
  const ModelConfig qwen3 = Parse(sparse);
  EXPECT_EQ(qwen3.num_key_value_heads, 32);
  EXPECT_EQ(qwen3.head_dim, 128);
  EXPECT_EQ(qwen3.max_position_embeddings, 32768);
  EXPECT_FALSE(qwen3.attention_bias);
  EXPECT_THAT(qwen3.layers, Each(LayerConfig{.qk_norm = true}));

  EXPECT_EQ(Parse(With(Qwen3(), "num_key_value_heads", nullptr)).num_key_value_heads, 6);
  EXPECT_EQ(Parse(With(Llama(), "head_dim", nullptr)).head_dim, 8);
}

TEST(ModelConfigTest, HeadDimNeedNotFollowFromTheHiddenSize) {
  EXPECT_EQ(Parse(With(Llama(), "head_dim", 128)).head_dim, 128);
  EXPECT_THAT(ErrorOf(With(Llama(), "hidden_size", 50)),
              AllOf(HasSubstr("hidden_size is 50"), HasSubstr("num_attention_heads, which is 6")));
  EXPECT_EQ(Parse(With(With(Llama(), "hidden_size", 50), "head_dim", 8)).head_dim, 8);
}

TEST(ModelConfigTest, DefaultsOfEveryFamilyAreThoseOfTransformers) {
  struct Expected {
    Json config;
    std::int64_t num_key_value_heads;
    std::int64_t head_dim;
    std::int64_t max_position_embeddings;
    bool tie_word_embeddings;
  };
  for (const Expected& expected : {Expected{Llama(), 64, 12, 2048, false},
                                   {Mistral(), 8, 12, 131072, false},
                                   {Qwen2(), 32, 12, 32768, false},
                                   {Qwen3(), 32, 128, 32768, false},
                                   {Gemma(), 16, 256, 8192, true},
                                   {Gemma2(), 4, 256, 8192, true},
                                   {Gemma3(), 4, 256, 131072, true}}) {
    Json sparse = Without(Without(expected.config, "num_key_value_heads"), "head_dim");
    sparse["hidden_size"] = 768;
    sparse["num_attention_heads"] = 64;
    const ModelConfig config = Parse(sparse);
    SCOPED_TRACE(config.architecture);
    EXPECT_EQ(config.num_key_value_heads, expected.num_key_value_heads);
    EXPECT_EQ(config.head_dim, expected.head_dim);
    EXPECT_EQ(config.max_position_embeddings, expected.max_position_embeddings);
    EXPECT_EQ(config.tie_word_embeddings, expected.tie_word_embeddings);
    EXPECT_EQ(config.norm_eps, 1e-6);
    EXPECT_EQ(config.num_labels, 0);
    EXPECT_EQ(config.attention_bias, config.model_type == "qwen2");
    EXPECT_FALSE(config.attention_output_bias || config.mlp_bias);
  }
}

TEST(ModelConfigTest, StepsOfGemma) {
  for (const Json& json : {Gemma(), Gemma2(), Gemma3()}) {
    const ModelConfig config = Parse(json);
    EXPECT_TRUE(config.norm_weights_plus_one);
    EXPECT_EQ(config.hidden_activation, Activation::kGeluTanh);
    EXPECT_EQ(config.embedding_scale, std::sqrt(48.0));
  }
  const ModelConfig gemma = Parse(Gemma());
  EXPECT_THAT(gemma.layers, Each(LayerConfig()));
  EXPECT_EQ(gemma.query_scale, 0);
  EXPECT_FALSE(gemma.attn_logit_softcapping || gemma.final_logit_softcapping);

  const ModelConfig gemma2 = Parse(Gemma2());
  EXPECT_EQ(gemma2.query_scale, 1.0 / 16);
  EXPECT_EQ(gemma2.attn_logit_softcapping, 50.0);
  EXPECT_EQ(gemma2.final_logit_softcapping, 30.0);
  Json changed = With(Gemma2(), "attn_logit_softcapping", nullptr);
  changed["final_logit_softcapping"] = 7;
  changed["query_pre_attn_scalar"] = 144;
  EXPECT_FALSE(Parse(changed).attn_logit_softcapping);
  EXPECT_EQ(Parse(changed).final_logit_softcapping, 7.0);
  EXPECT_EQ(Parse(changed).query_scale, 1.0 / 12);

  const ModelConfig gemma3 = Parse(Gemma3());
  EXPECT_EQ(gemma3.query_scale, 1.0 / 16);
  EXPECT_FALSE(gemma3.attn_logit_softcapping || gemma3.final_logit_softcapping);
  EXPECT_EQ(Parse(With(Gemma3(), "final_logit_softcapping", 30.0)).final_logit_softcapping, 30.0);
  for (const LayerConfig& layer : gemma3.layers) {
    EXPECT_TRUE(layer.qk_norm && layer.post_attention_norm && layer.post_feedforward_norm);
  }

  for (const Json& json : {Llama(), Mistral(), Qwen2(), Qwen3()}) {
    const ModelConfig config = Parse(json);
    EXPECT_FALSE(config.norm_weights_plus_one);
    EXPECT_EQ(config.hidden_activation, Activation::kSilu);
    EXPECT_EQ(config.embedding_scale, 1.0);
    EXPECT_EQ(config.query_scale, 0);
  }
  EXPECT_THAT(ErrorOf(With(Gemma2(), "attn_logit_softcapping", 0)),
              HasSubstr("attn_logit_softcapping is 0"));
  // transformers ignores this field of Gemma 3.
  EXPECT_FALSE(Parse(With(Gemma3(), "attn_logit_softcapping", 50.0)).attn_logit_softcapping);
  for (const Json& json : {Gemma2(), Gemma3()}) {
    for (const Json& value : {Json(0), Json(-50), Json("50"), Json::array({50})}) {
      EXPECT_THAT(ErrorOf(With(json, "final_logit_softcapping", value)),
                  HasSubstr("final_logit_softcapping is "));
      EXPECT_THAT(ErrorOf(With(json, "query_pre_attn_scalar", value)),
                  HasSubstr("query_pre_attn_scalar is "));
    }
  }
}

// The official files of Gemma 1 say "gelu" and mean its tanh approximation, as transformers does.
TEST(ModelConfigTest, ActivationsAreRead) {
  const auto activation = [](const Json& config) { return Parse(config).hidden_activation; };
  EXPECT_EQ(activation(With(Llama(), "hidden_act", "swish")), Activation::kSilu);
  EXPECT_EQ(activation(With(Llama(), "hidden_act", "gelu_pytorch_tanh")), Activation::kGeluTanh);
  EXPECT_EQ(activation(With(Llama(), "hidden_act", "gelu_new")), Activation::kGeluTanh);
  EXPECT_EQ(activation(With(Llama(), "hidden_act", "gelu")), Activation::kGelu);
  EXPECT_EQ(activation(With(Llama(), "hidden_act", "relu")), Activation::kRelu);
  EXPECT_EQ(activation(With(Gemma(), "hidden_act", "gelu")), Activation::kGeluTanh);
  EXPECT_EQ(activation(With(Gemma(), "hidden_act", "gelu_pytorch_tanh")), Activation::kGeluTanh);
  Json both = With(Gemma(), "hidden_act", "gelu");
  EXPECT_EQ(activation(With(both, "hidden_activation", nullptr)), Activation::kGeluTanh);
  EXPECT_EQ(activation(With(both, "hidden_activation", "gelu_pytorch_tanh")),
            Activation::kGeluTanh);
  EXPECT_THAT(ErrorOf(With(both, "hidden_activation", "gelu")),
              HasSubstr("hidden_activation is \"gelu\""));
  EXPECT_THAT(ErrorOf(With(both, "hidden_activation", "silu")),
              HasSubstr("hidden_activation is \"silu\": it contradicts hidden_act"));
  for (const Json& config : {Gemma2(), Gemma3()}) {
    EXPECT_EQ(activation(With(config, "hidden_activation", "gelu_pytorch_tanh")),
              Activation::kGeluTanh);
    EXPECT_EQ(activation(With(config, "hidden_act", "gelu_pytorch_tanh")), Activation::kGeluTanh);
    EXPECT_EQ(activation(With(config, "hidden_activation", "gelu")), Activation::kGelu);
    EXPECT_THAT(ErrorOf(With(config, "hidden_activation", "quick_gelu")),
                AllOf(HasSubstr("hidden_activation is \"quick_gelu\""),
                      HasSubstr("silu, swish, gelu, gelu_python, gelu_pytorch_tanh")));
    EXPECT_THAT(ErrorOf(With(config, "hidden_act", "silu")), HasSubstr("hidden_act is \"silu\""));
  }
}

TEST(ModelConfigTest, Qwen2HasBiasesWithoutAField) {
  for (const Json& config :
       {Qwen2(), With(Qwen2(), "attention_bias", true), With(Qwen2(), "attention_bias", false)}) {
    EXPECT_TRUE(Parse(config).attention_bias);
    EXPECT_FALSE(Parse(config).attention_output_bias);
    EXPECT_FALSE(Parse(config).mlp_bias);
  }
  EXPECT_THAT(ErrorOf(With(Mistral(), "attention_bias", true)),
              HasSubstr("attention_bias is true"));
  EXPECT_TRUE(Parse(With(Gemma(), "attention_bias", true)).attention_output_bias);
}

TEST(ModelConfigTest, ClassifiersHaveLabels) {
  const std::vector<std::pair<std::string, std::string>> classifiers = {
      {"llama", "LlamaForSequenceClassification"},
      {"mistral", "MistralForSequenceClassification"},
      {"qwen2", "Qwen2ForSequenceClassification"},
      {"qwen3", "Qwen3ForSequenceClassification"},
      {"gemma", "GemmaForSequenceClassification"},
      {"gemma2", "Gemma2ForSequenceClassification"},
      {"gemma3_text", "Gemma3TextForSequenceClassification"}};
  for (const auto& [model_type, architecture] : classifiers) {
    const Json config = With(OfType(model_type, architecture), "head_dim", 16);
    EXPECT_EQ(Parse(config).architecture, architecture);
    EXPECT_EQ(Parse(config).num_labels, 2);  // The default of transformers.
    EXPECT_EQ(Parse(With(config, "num_labels", 5)).num_labels, 5);
    EXPECT_EQ(Parse(With(config, "id2label", nullptr)).num_labels, 2);
    const Json named = With(config, "id2label", {{"0", "no"}, {"1", "yes"}, {"2", "?"}});
    EXPECT_EQ(Parse(named).num_labels, 3);
    EXPECT_EQ(Parse(With(named, "num_labels", 4)).num_labels, 3);  // id2label decides.
    EXPECT_EQ(Parse(With(config, "id2label", {{"0", "LABEL_0"}})).num_labels, 1);
    EXPECT_FALSE(Parse(config).final_logit_softcapping.has_value());
  }
  const Json gemma2 = OfType("gemma2", "Gemma2ForSequenceClassification");
  EXPECT_EQ(Parse(gemma2).attn_logit_softcapping, 50.0);
  EXPECT_FALSE(Parse(With(gemma2, "final_logit_softcapping", 30.0)).final_logit_softcapping);

  const Json llama = OfType("llama", "LlamaForSequenceClassification");
  for (const Json& value : {Json(0), Json(-1), Json(65537), Json("2"), Json(1.5)}) {
    EXPECT_THAT(ErrorOf(With(llama, "num_labels", value)), HasSubstr("num_labels is "));
  }
  EXPECT_THAT(ErrorOf(With(llama, "id2label", Json::object())), HasSubstr("id2label is 0"));
  EXPECT_THAT(ErrorOf(With(llama, "id2label", {"no", "yes"})), HasSubstr("id2label is a list"));
  EXPECT_EQ(Parse(With(Llama(), "num_labels", 5)).num_labels, 0);  // Language models have none.
}

TEST(ModelConfigTest, TheProblemTypeOfAClassifier) {
  const Json llama = OfType("llama", "LlamaForSequenceClassification");
  const auto type = [&](const Json& value) {
    return Parse(With(llama, "problem_type", value)).problem_type;
  };
  EXPECT_EQ(Parse(llama).problem_type, std::nullopt);
  EXPECT_EQ(type(nullptr), std::nullopt);
  EXPECT_EQ(type("regression"), ProblemType::kRegression);
  EXPECT_EQ(type("single_label_classification"), ProblemType::kSingleLabel);
  EXPECT_EQ(type("multi_label_classification"), ProblemType::kMultiLabel);
  EXPECT_THAT(ErrorOf(With(llama, "problem_type", "token_classification")),
              HasSubstr("problem_type is \"token_classification\": it must be regression, "
                        "single_label_classification, multi_label_classification or null"));
  EXPECT_THAT(ErrorOf(With(llama, "problem_type", 1)), HasSubstr("problem_type is 1: "));

  const Json one_class = With(llama, "num_labels", 1);
  EXPECT_EQ(Parse(With(one_class, "problem_type", "regression")).problem_type,
            ProblemType::kRegression);
  EXPECT_THAT(ErrorOf(With(one_class, "problem_type", "single_label_classification")),
              HasSubstr("problem_type is \"single_label_classification\": as in transformers, it "
                        "needs several classes"));
}

TEST(ModelConfigTest, FallsBackOnModelType) {
  EXPECT_EQ(Parse(Without(Llama(), "architectures")).architecture, "LlamaForCausalLM");
  EXPECT_EQ(Parse(With(Qwen3(), "architectures", Json::array())).architecture, "Qwen3ForCausalLM");
  EXPECT_EQ(Parse(With(Qwen3(), "architectures", nullptr)).architecture, "Qwen3ForCausalLM");
  EXPECT_EQ(Parse(Without(Llama(), "model_type")).model_type, "llama");
  EXPECT_THAT(ErrorOf(Without(Without(Llama(), "architectures"), "model_type")),
              HasSubstr("neither architectures nor model_type"));
  EXPECT_THAT(ErrorOf(With(Without(Llama(), "architectures"), "model_type", "gpt2")),
              AllOf(HasSubstr("model_type is \"gpt2\""),
                    HasSubstr("llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3_text")));
}

TEST(ModelConfigTest, EndTokensMayBeOneManyOrNone) {
  EXPECT_THAT(Parse(With(Llama(), "eos_token_id", 2)).eos_token_ids, ElementsAre(2));
  EXPECT_THAT(Parse(With(Llama(), "eos_token_id", {0, 319})).eos_token_ids, ElementsAre(0, 319));
  EXPECT_THAT(Parse(With(Llama(), "eos_token_id", nullptr)).eos_token_ids, IsEmpty());
  EXPECT_EQ(Parse(With(Llama(), "bos_token_id", 0)).bos_token_id, 0);
  EXPECT_FALSE(Parse(With(Llama(), "bos_token_id", nullptr)).bos_token_id.has_value());
  EXPECT_THAT(ErrorOf(With(Llama(), "eos_token_id", {2, 320})),
              AllOf(HasSubstr("eos_token_id[1] is 320"), HasSubstr("0 to 319")));
  EXPECT_THAT(ErrorOf(With(Llama(), "eos_token_id", "</s>")), HasSubstr("eos_token_id is "));
  EXPECT_THAT(ErrorOf(With(Llama(), "bos_token_id", -1)), HasSubstr("bos_token_id is -1"));
}

TEST(ModelConfigTest, BothSpellingsOfDtype) {
  EXPECT_EQ(Parse(With(Llama(), "dtype", "bfloat16")).dtype, "bfloat16");
  EXPECT_EQ(Parse(With(Llama(), "torch_dtype", "float16")).dtype, "float16");
  EXPECT_EQ(Parse(With(Llama(), "torch_dtype", nullptr)).dtype, "");
  EXPECT_THAT(ErrorOf(With(Llama(), "dtype", 16)), HasSubstr("dtype is 16"));
}

TEST(ModelConfigTest, ANameOfAHubIsNoDirectory) {
  const auto error_of = [](const std::string& path) -> std::string {
    try {
      LoadModelConfig(path);
    } catch (const StartupError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(
      error_of("Nobody/No-Model_0.6B"),
      "Nobody/No-Model_0.6B is not a directory; to download the model of this name: hf download "
      "Nobody/No-Model_0.6B --local-dir No-Model_0.6B, then give --model No-Model_0.6B");
  for (const std::string path : {"no_model", "./no/model", "/no/model", "no/model/here", "../no"}) {
    EXPECT_EQ(error_of(path), path + " is not a directory");
  }
}

TEST(ModelConfigTest, FilesThatCannotBeReadAreNamed) {
  const std::string dir = ::testing::TempDir() + "scorecast-config-" + std::to_string(::getpid());
  const auto error_of = [&dir]() -> std::string {
    try {
      LoadModelConfig(dir);
    } catch (const StartupError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(error_of(), dir + " is not a directory");
  std::filesystem::create_directory(dir);
  EXPECT_EQ(error_of(), dir + "/config.json: there is no such file");
  std::filesystem::create_directory(dir + "/config.json");
  EXPECT_EQ(error_of(), dir + "/config.json: not a regular file");
  std::filesystem::remove(dir + "/config.json");
  ASSERT_EQ(::mkfifo((dir + "/config.json").c_str(), 0600), 0);
  EXPECT_EQ(error_of(), dir + "/config.json: not a regular file");
  std::filesystem::remove(dir + "/config.json");
  std::filesystem::create_symlink("absent", dir + "/config.json");
  EXPECT_EQ(error_of(), dir + "/config.json: it is a link to a file that does not exist");
  std::filesystem::remove(dir + "/config.json");
  std::ofstream(dir + "/config.json") << "";
  EXPECT_EQ(error_of(), dir + "/config.json: not valid JSON at byte 1");
  std::filesystem::resize_file(dir + "/config.json", (16 << 20) + 1);
  EXPECT_EQ(error_of(), dir + "/config.json: 16777217 bytes is more than the limit of 16777216");
  std::ofstream(dir + "/target") << Llama().dump();
  std::filesystem::remove(dir + "/config.json");
  std::filesystem::create_symlink("target", dir + "/config.json");
  EXPECT_EQ(error_of(), "accepted");
  ASSERT_EQ(::mkfifo((dir + "/generation_config.json").c_str(), 0600), 0);
  EXPECT_EQ(error_of(), dir + "/generation_config.json: not a regular file");
  std::filesystem::remove_all(dir);
}

TEST(ModelConfigTest, EosIdsOfTheGenerationConfigAreAdded) {
  const std::string dir = ::testing::TempDir() + "scorecast-eos-" + std::to_string(::getpid());
  std::filesystem::create_directory(dir);
  Json config = Llama();
  config["eos_token_id"] = 2;
  std::ofstream(dir + "/config.json") << config.dump();
  EXPECT_THAT(LoadModelConfig(dir).eos_token_ids, ElementsAre(2));
  const std::string file = dir + "/generation_config.json";
  for (const auto& [text, ids] : std::vector<std::pair<std::string, std::vector<TokenId>>>{
           {"{}", {2}},
           {R"({"eos_token_id":null,"temperature":0.6})", {2}},
           {R"({"eos_token_id":3})", {2, 3}},
           {R"({"eos_token_id":[4,2,3]})", {2, 4, 3}},
           // What is no token ends no completion.
           {R"({"eos_token_id":[5,-1,320,18446744073709551615,"2"]})", {2, 5}},
           {R"({"eos_token_id":"2"})", {2}}}) {
    std::ofstream(file) << text;
    EXPECT_EQ(LoadModelConfig(dir).eos_token_ids, ids) << text;
  }
  for (const auto& [text, fault] : std::vector<std::pair<std::string, std::string>>{
           {"", "not valid JSON at byte 1"}, {"[]", "not a JSON object"}}) {
    std::ofstream(file) << text;
    try {
      LoadModelConfig(dir);
      ADD_FAILURE() << "accepted " << text;
    } catch (const StartupError& error) {
      EXPECT_THAT(error.what(), HasSubstr(file + ": " + fault));
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    }
  }
  std::filesystem::remove_all(dir);
}

}  // namespace model_config_test
}  // namespace scorecast::proto
