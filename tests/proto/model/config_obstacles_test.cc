#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/model/model_config.h"
#include "tests/proto/model/config_json.h"

namespace scorecast::proto {
namespace config_obstacles_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ObstaclesTest, UnsupportedArchitecturesAreNamed) {
  EXPECT_THAT(
      ErrorOf(With(Llama(), "architectures", {"GPT2LMHeadModel"})),
      AllOf(HasSubstr("architectures[0] is \"GPT2LMHeadModel\""),
            HasSubstr("supported are LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, "
                      "Qwen3ForCausalLM, GemmaForCausalLM, Gemma2ForCausalLM, "
                      "Gemma3ForCausalLM, and these as …ForSequenceClassification")));
  EXPECT_THAT(ErrorOf(With(Llama(), "architectures", {"LlamaForCausalLM", "X"})),
              HasSubstr("architectures is a list"));
  EXPECT_THAT(ErrorOf(With(Llama(), "architectures", {7})), HasSubstr("architectures[0] is 7"));
  EXPECT_THAT(ErrorOf(With(Llama(), "architectures", "LlamaForCausalLM")),
              HasSubstr("architectures is \"LlamaForCausalLM\""));
  EXPECT_THAT(ErrorOf(With(Llama(), "model_type", "mistral")),
              HasSubstr("model_type is \"mistral\""));
}

TEST(ObstaclesTest, OptionsThatWouldChangeTheResultAreNamed) {
  const std::vector<std::pair<std::string, Json>> options = {
      {"hidden_act", "quick_gelu"},
      {"hidden_act", nullptr},
      {"hidden_activation", "gelu_pytorch_tanh"},
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
  EXPECT_THAT(ErrorOf(With(Llama(), "hidden_act", "quick_gelu")),
              HasSubstr("hidden_act is \"quick_gelu\""));
  EXPECT_THAT(ErrorOf(With(Qwen3(), "mlp_bias", true)), HasSubstr("mlp_bias is true"));
}

TEST(ObstaclesTest, OptionsInTheirPlainSettingAreAccepted) {
  Json config = Llama();
  config["hidden_act"] = "silu";
  config["partial_rotary_factor"] = 1.0;
  config["quantization_config"] = nullptr;
  config["pruned_heads"] = Json::object();
  config["is_encoder_decoder"] = false;
  config["attention_dropout"] = 0.1;  // Only used in training.
  config["use_cache"] = true;
  config["pretraining_tp"] = 2;  // Llama 2: how products were split, which does not change them.
  EXPECT_NO_THROW(Parse(config));
  EXPECT_NO_THROW(Parse(With(Qwen3(), "mlp_bias", false)));
}

// These kinds of models are refused before their architecture is, because the message can then name
// the obstacle.
TEST(ObstaclesTest, KindsOfModelsAreNamed) {
  struct Refusal {
    std::string architecture;
    std::string field;  ///< Empty: only the architecture's name says it.
    Json value;
    std::string named;
  };
  const std::vector<Refusal> refusals = {
      {"Gemma3ForConditionalGeneration", "vision_config", Json::object(), "multimodal"},
      {"Gemma3ForConditionalGeneration", "text_config", {{"hidden_size", 48}}, "multimodal"},
      {"Gemma3ForConditionalGeneration", "", {}, "multimodal"},
      {"Gemma3ForSequenceClassification", "text_config", {{"hidden_size", 48}}, "multimodal"},
      {"Qwen2VLForConditionalGeneration", "vision_config", {{"depth", 32}}, "multimodal"},
      {"Qwen2AudioForConditionalGeneration", "audio_config", Json::object(), "multimodal"},
      {"LlavaForConditionalGeneration", "", {}, "multimodal"},
      {"MixtralForCausalLM", "num_local_experts", 8, "mixture-of-experts"},
      {"MixtralForCausalLM", "", {}, "mixture-of-experts"},
      {"Qwen3MoeForCausalLM", "num_experts", 128, "mixture-of-experts"},
      {"Qwen2MoeForCausalLM", "", {}, "mixture-of-experts"},
      {"DeepseekV3ForCausalLM", "n_routed_experts", 256, "mixture-of-experts"},
      {"LlamaForCausalLM", "num_local_experts", 8, "mixture-of-experts"},
      {"FalconForCausalLM", "alibi", true, "ALiBi"},
      {"BloomForCausalLM", "", {}, "ALiBi"},
      {"MPTForCausalLM", "", {}, "ALiBi"},
      {"MistralBidirectionalModel", "", {}, "bidirectional attention"},
      {"Gemma2ForCausalLM", "use_bidirectional_attention", true, "bidirectional attention"},
      {"Qwen2ForCausalLM", "is_causal", false, "bidirectional attention"},
      {"T5ForConditionalGeneration", "is_encoder_decoder", true, "encoder"},
  };
  for (const Refusal& refusal : refusals) {
    Json config = With(Llama(), "architectures", {refusal.architecture});
    config.erase("model_type");
    if (!refusal.field.empty()) {
      config[refusal.field] = refusal.value;
    }
    const std::string message = ErrorOf(config);
    EXPECT_THAT(message, HasSubstr(refusal.named));
    EXPECT_THAT(message, HasSubstr("supported are LlamaForCausalLM"));
    EXPECT_THAT(message, HasSubstr("Gemma3ForCausalLM, and these as …ForSequenceClassification"));
    EXPECT_THAT(message, HasSubstr(refusal.field.empty()
                                       ? "architectures[0] is \"" + refusal.architecture + "\""
                                       : refusal.field + " is "));
  }
}

TEST(ObstaclesTest, QuantisedCheckpointsAreNamedWithTheirMethod) {
  for (const char* method : {"fp8", "awq", "gptq", "compressed-tensors", "bitsandbytes"}) {
    const Json quantised = {{"quant_method", method}, {"bits", 4}};
    for (const Json& config : {Llama(), Qwen3(), Gemma2()}) {
      EXPECT_THAT(ErrorOf(With(config, "quantization_config", quantised)),
                  AllOf(HasSubstr("quantization_config is an object: quantised checkpoints"),
                        HasSubstr("quant_method \"" + std::string(method) + "\""),
                        HasSubstr("float32, float16 and bfloat16")));
    }
  }
  EXPECT_THAT(ErrorOf(With(Llama(), "quantization_config", {{"load_in_4bit", true}})),
              HasSubstr("quant_method unknown"));
  EXPECT_THAT(ErrorOf(With(Llama(), "quantization_config", "fp8")),
              HasSubstr("quantization_config is \"fp8\""));
  EXPECT_THAT(ErrorOf(With(Llama(), "compression_config", {{"format", "pack-quantized"}})),
              HasSubstr("compressed-tensors"));
  EXPECT_THAT(ErrorOf(With(Llama(), "quantization_config", {{"quant_method", {1, 2}}})),
              HasSubstr("quant_method unknown"));
}

}  // namespace config_obstacles_test
}  // namespace scorecast::proto
