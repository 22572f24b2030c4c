#include "proto/model/model_config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "proto/base/error.h"
#include "tests/reference/golden_families.h"

namespace scorecast::proto {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;
using Json = nlohmann::json;

constexpr char kFamilies[] = SCORECAST_TESTS_DIR "/golden/families/";

Json Llama() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_size", 48},
          {"num_hidden_layers", 3},
          {"num_attention_heads", 6},
          {"num_key_value_heads", 2},
          {"intermediate_size", 112},
          {"vocab_size", 320}};
}

Json Qwen3() {
  Json config = Llama();
  config["architectures"] = {"Qwen3ForCausalLM"};
  config["model_type"] = "qwen3";
  config["head_dim"] = 16;
  return config;
}

Json With(Json config, const std::string& field, const Json& value) {
  config[field] = value;
  return config;
}

Json Without(Json config, const std::string& field) {
  config.erase(field);
  return config;
}

ModelConfig Parse(const Json& config) { return ParseModelConfig(config.dump(), "dir/config.json"); }

/// The message of the StartupError. If there is none, the test fails and the message is empty.
std::string ErrorOfText(std::string_view text) {
  try {
    ParseModelConfig(text, "dir/config.json");
  } catch (const StartupError& error) {
    const std::string message = error.what();
    EXPECT_THAT(message, AllOf(Not(HasSubstr("\n")), ::testing::StartsWith("dir/config.json: ")));
    EXPECT_LT(message.size(), 400U);
    return message;
  }
  ADD_FAILURE() << "accepted: " << text.substr(0, 400);
  return {};
}

/// The theta of all layers.
double RopeTheta(const ModelConfig& config) {
  EXPECT_EQ(config.rope_tables.size(), 1U);
  for (const LayerConfig& layer : config.layers) {
    EXPECT_EQ(layer.rope_table, 0U);
  }
  return config.rope_tables.at(0).theta;
}

std::string ErrorOf(const Json& config) { return ErrorOfText(config.dump()); }

TEST(ModelConfigTest, ReadsLlama) {
  const ModelConfig config = LoadModelConfig(std::string(kFamilies) + "llama");
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
  EXPECT_EQ(config.rms_norm_eps, 1e-5);
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

TEST(ModelConfigTest, ReadsQwen3) {
  const ModelConfig config = LoadModelConfig(std::string(kFamilies) + "qwen3");
  EXPECT_EQ(config.architecture, "Qwen3ForCausalLM");
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.num_attention_heads, 8);
  EXPECT_EQ(config.num_key_value_heads, 4);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(RopeTheta(config), 1e6);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_THAT(config.layers, Each(LayerConfig{.qk_norm = true}));
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_EQ(config.dtype, "bfloat16");
}

TEST(ModelConfigTest, ReadsBiasesAndUnevenHeads) {
  const ModelConfig bias = LoadModelConfig(std::string(kFamilies) + "llama-bias");
  EXPECT_TRUE(bias.attention_bias);
  EXPECT_TRUE(bias.attention_output_bias);
  EXPECT_TRUE(bias.mlp_bias);
  const ModelConfig nine = LoadModelConfig(std::string(kFamilies) + "llama-nine-heads");
  EXPECT_EQ(nine.num_attention_heads, 9);
  EXPECT_EQ(nine.num_key_value_heads, 3);
  EXPECT_TRUE(nine.tie_word_embeddings);
  EXPECT_TRUE(Parse(With(Qwen3(), "attention_bias", true)).attention_output_bias);
}

TEST(ModelConfigTest, AbsentFieldsHaveTheDefaultsOfTransformers) {
  const ModelConfig llama = Parse(Without(Llama(), "num_key_value_heads"));
  EXPECT_EQ(llama.num_key_value_heads, 6);
  EXPECT_EQ(llama.head_dim, 8);
  EXPECT_EQ(llama.max_position_embeddings, 2048);
  EXPECT_EQ(llama.rms_norm_eps, 1e-6);
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

TEST(ModelConfigTest, FallsBackOnModelType) {
  EXPECT_EQ(Parse(Without(Llama(), "architectures")).architecture, "LlamaForCausalLM");
  EXPECT_EQ(Parse(With(Qwen3(), "architectures", Json::array())).architecture, "Qwen3ForCausalLM");
  EXPECT_EQ(Parse(With(Qwen3(), "architectures", nullptr)).architecture, "Qwen3ForCausalLM");
  EXPECT_EQ(Parse(Without(Llama(), "model_type")).model_type, "llama");
  EXPECT_THAT(ErrorOf(Without(Without(Llama(), "architectures"), "model_type")),
              HasSubstr("neither architectures nor model_type"));
  EXPECT_THAT(ErrorOf(With(Without(Llama(), "architectures"), "model_type", "gpt2")),
              AllOf(HasSubstr("model_type is \"gpt2\""), HasSubstr("llama, qwen3")));
}

TEST(ModelConfigTest, UnsupportedArchitecturesAreNamed) {
  EXPECT_THAT(ErrorOf(With(Llama(), "architectures", {"GPT2LMHeadModel"})),
              AllOf(HasSubstr("architectures[0] is \"GPT2LMHeadModel\""),
                    HasSubstr("LlamaForCausalLM, Qwen3ForCausalLM")));
  EXPECT_THAT(ErrorOf(With(Llama(), "architectures", {"LlamaForCausalLM", "X"})),
              HasSubstr("architectures is a list"));
  EXPECT_THAT(ErrorOf(With(Llama(), "architectures", {7})), HasSubstr("architectures[0] is 7"));
  EXPECT_THAT(ErrorOf(With(Llama(), "architectures", "LlamaForCausalLM")),
              HasSubstr("architectures is \"LlamaForCausalLM\""));
  EXPECT_THAT(ErrorOf(With(Llama(), "model_type", "mistral")),
              HasSubstr("model_type is \"mistral\""));
}

struct GoldenRefusal {
  std::string family;
  std::string named;
};

class GoldenRefusalTest : public ::testing::TestWithParam<GoldenRefusal> {};

TEST_P(GoldenRefusalTest, NamesWhatIsNotSupported) {
  try {
    LoadModelConfig(kFamilies + GetParam().family);
    FAIL() << "accepted";
  } catch (const StartupError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(GetParam().family + "/config.json: "),
                                    HasSubstr(GetParam().named), Not(HasSubstr("\n"))));
  }
}

const GoldenRefusal kGoldenRefusals[] = {
    {"llama3", "rope_scaling.rope_type is \"llama3\""},
    {"llama-linear", "rope_scaling.rope_type is \"linear\""},
    {"mistral", "MistralForCausalLM"},
    {"gemma", "GemmaForCausalLM"},
    {"gemma2", "Gemma2ForCausalLM"},
    {"gemma3", "Gemma3ForCausalLM"},
    {"qwen2", "Qwen2ForCausalLM"},
    {"qwen2-yarn", "Qwen2ForCausalLM"},
    {"qwen2-classifier", "Qwen2ForSequenceClassification"},
    {"qwen3-classifier", "Qwen3ForSequenceClassification"},
    {"gemma2-classifier", "Gemma2ForSequenceClassification"},
    {"llama3-classifier", "LlamaForSequenceClassification"},
};

INSTANTIATE_TEST_SUITE_P(Families, GoldenRefusalTest, ::testing::ValuesIn(kGoldenRefusals),
                         [](const auto& tested) {
                           std::string name = tested.param.family;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Otherwise a new directory could stay unused by every test.
TEST(ModelConfigTest, EveryGoldenFamilyIsSupportedOrRefused) {
  std::vector<std::string> listed(reference::kGoldenFamilies.begin(),
                                  reference::kGoldenFamilies.end());
  for (const GoldenRefusal& refusal : kGoldenRefusals) {
    listed.push_back(refusal.family);
  }
  std::vector<std::string> directories;
  for (const auto& entry : std::filesystem::directory_iterator(kFamilies)) {
    directories.push_back(entry.path().filename());
  }
  EXPECT_THAT(listed, UnorderedElementsAreArray(directories));
}

TEST(ModelConfigTest, BothSpellingsOfRope) {
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

TEST(ModelConfigTest, ScaledRopeIsNamed) {
  for (const char* field : {"rope_scaling", "rope_parameters"}) {
    for (const char* key : {"rope_type", "type"}) {
      const Json yarn = {{key, "yarn"}, {"factor", 4.0}, {"rope_theta", 1e6}};
      EXPECT_THAT(ErrorOf(With(Llama(), field, yarn)),
                  HasSubstr(std::string(field) + "." + key + " is \"yarn\""));
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

TEST(ModelConfigTest, SlidingWindowsInForceAreNamed) {
  EXPECT_THAT(ErrorOf(With(Llama(), "sliding_window", 4096)), HasSubstr("sliding_window is 4096"));
  EXPECT_NO_THROW(Parse(With(Llama(), "sliding_window", nullptr)));

  const Json on = With(With(Qwen3(), "use_sliding_window", true), "max_window_layers", 2);
  EXPECT_THAT(ErrorOf(With(on, "sliding_window", 4096)), HasSubstr("use_sliding_window is true"));
  EXPECT_THAT(ErrorOf(on), HasSubstr("use_sliding_window is true"));
  // Not in force: switched off, without a window, or in no layer of the model.
  EXPECT_NO_THROW(Parse(With(Qwen3(), "sliding_window", 4096)));
  EXPECT_NO_THROW(Parse(With(on, "sliding_window", nullptr)));
  EXPECT_NO_THROW(Parse(With(on, "max_window_layers", 3)));
  EXPECT_NO_THROW(Parse(With(Qwen3(), "use_sliding_window", true)));
  EXPECT_THAT(ErrorOf(With(With(Qwen3(), "use_sliding_window", true), "num_hidden_layers", 29)),
              HasSubstr("use_sliding_window is true"));

  const Json full = {"full_attention", "full_attention", "full_attention"};
  EXPECT_NO_THROW(Parse(With(Qwen3(), "layer_types", full)));
  EXPECT_NO_THROW(Parse(With(on, "layer_types", full)));
  for (const Json& config : {Llama(), Qwen3()}) {
    EXPECT_THAT(ErrorOf(With(config, "layer_types",
                             {"full_attention", "sliding_attention", "full_attention"})),
                HasSubstr("layer_types[1] is \"sliding_attention\""));
    EXPECT_THAT(ErrorOf(With(config, "layer_types", {"full_attention"})),
                HasSubstr("num_hidden_layers = 3"));
  }
}

TEST(ModelConfigTest, OptionsThatWouldChangeTheResultAreNamed) {
  const std::vector<std::pair<std::string, Json>> options = {
      {"hidden_act", "gelu"},
      {"hidden_act", nullptr},
      {"hidden_activation", "gelu_pytorch_tanh"},
      {"pretraining_tp", 2},
      {"quantization_config", {{"quant_method", "gptq"}}},
      {"partial_rotary_factor", 0.5},
      {"attn_logit_softcapping", 50.0},
      {"final_logit_softcapping", 30.0},
      {"query_pre_attn_scalar", 16},
      {"attention_multiplier", 0.01},
      {"embedding_multiplier", 12.0},
      {"residual_multiplier", 0.2},
      {"logits_scaling", 8.0},
      {"use_bidirectional_attention", true},
      {"is_causal", false},
      {"attention_chunk_size", 8192},
      {"num_local_experts", 8},
      {"num_experts", 128},
      {"pruned_heads", {{"0", {1}}}},
  };
  for (const auto& [name, value] : options) {
    for (const Json& config : {Llama(), Qwen3()}) {
      EXPECT_THAT(ErrorOf(With(config, name, value)), HasSubstr(name + " is "));
    }
  }
  EXPECT_THAT(ErrorOf(With(Llama(), "hidden_act", "gelu")), HasSubstr("hidden_act is \"gelu\""));
  EXPECT_THAT(ErrorOf(With(Qwen3(), "mlp_bias", true)), HasSubstr("mlp_bias is true"));
}

TEST(ModelConfigTest, OptionsInTheirPlainSettingAreAccepted) {
  Json config = Llama();
  config["hidden_act"] = "silu";
  config["pretraining_tp"] = 1;
  config["partial_rotary_factor"] = 1.0;
  config["quantization_config"] = nullptr;
  config["pruned_heads"] = Json::object();
  config["is_encoder_decoder"] = false;
  config["attention_dropout"] = 0.1;  // Only used in training.
  config["use_cache"] = true;
  EXPECT_NO_THROW(Parse(config));
  EXPECT_NO_THROW(Parse(With(Qwen3(), "mlp_bias", false)));
}

TEST(ModelConfigTest, MissingFieldsAreNamed) {
  for (const char* name : {"hidden_size", "num_hidden_layers", "num_attention_heads",
                           "intermediate_size", "vocab_size"}) {
    EXPECT_THAT(ErrorOf(Without(Llama(), name)), HasSubstr(std::string(name) + " is missing"));
  }
}

TEST(ModelConfigTest, SizesOutOfRangeAreNamed) {
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

TEST(ModelConfigTest, HeadsThatDoNotDivideAreRefusedWithBothNumbers) {
  EXPECT_THAT(
      ErrorOf(With(Llama(), "num_key_value_heads", 4)),
      AllOf(HasSubstr("num_attention_heads is 6"), HasSubstr("num_key_value_heads, which is 4")));
  EXPECT_THAT(ErrorOf(With(Llama(), "num_key_value_heads", 12)), HasSubstr("which is 12"));
  // Qwen3's default of 32 K/V heads does not suit six query heads.
  EXPECT_THAT(ErrorOf(Without(Qwen3(), "num_key_value_heads")), HasSubstr("which is 32"));
}

TEST(ModelConfigTest, AnOddHeadDimIsRefused) {
  EXPECT_THAT(ErrorOf(With(Llama(), "head_dim", 7)), HasSubstr("head_dim is 7"));
  EXPECT_THAT(ErrorOf(With(Llama(), "hidden_size", 18)), HasSubstr("head_dim is 3"));
  EXPECT_THAT(ErrorOf(With(Llama(), "hidden_size", 6)),
              HasSubstr("head_dim (hidden_size / num_attention_heads) is 1"));
  EXPECT_THAT(ErrorOf(With(Qwen3(), "head_dim", nullptr)), HasSubstr("head_dim is null"));
}

TEST(ModelConfigTest, NumbersAndFlagsOfTheWrongKindAreNamed) {
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

TEST(ModelConfigTest, TextThatIsNoJsonObjectIsRefused) {
  EXPECT_THAT(ErrorOfText(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOfText("{\"hidden_size\": 4"), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(ErrorOfText("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOfText("{\"model_type\":\"\xff\"}"), HasSubstr("not valid JSON"));
  // A zero byte does not end the text.
  EXPECT_THAT(ErrorOfText(Llama().dump() + std::string("\0{", 2)), HasSubstr("not valid JSON"));
}

TEST(ModelConfigTest, MessagesStayOneShortLineWhateverTheFileSays) {
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
  EXPECT_EQ(error_of(), dir + "/config.json: there is no such file");
  std::filesystem::remove(dir + "/config.json");
  std::ofstream(dir + "/config.json") << "";
  EXPECT_EQ(error_of(), dir + "/config.json: not valid JSON at byte 1");
  std::filesystem::resize_file(dir + "/config.json", (16 << 20) + 1);
  EXPECT_EQ(error_of(), dir + "/config.json: 16777217 bytes is more than the limit of 16777216");
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
           {R"({"eos_token_id":[4,2,3]})", {2, 4, 3}}}) {
    std::ofstream(file) << text;
    EXPECT_EQ(LoadModelConfig(dir).eos_token_ids, ids) << text;
  }
  for (const auto& [text, fault] : std::vector<std::pair<std::string, std::string>>{
           {"", "not valid JSON at byte 1"},
           {"[]", "not a JSON object"},
           {R"({"eos_token_id":"2"})", "eos_token_id is \"2\""},
           {R"({"eos_token_id":[2,1000000000]})", "eos_token_id[1] is 1000000000"}}) {
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

}  // namespace
}  // namespace scorecast::proto
