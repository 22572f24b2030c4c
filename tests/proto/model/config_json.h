#pragma once

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/model/model_config.h"

namespace scorecast::proto {

using Json = nlohmann::json;

/// A config.json of three layers, with the fields that every family must have.
inline Json Llama() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_size", 48},
          {"num_hidden_layers", 3},
          {"num_attention_heads", 6},
          {"num_key_value_heads", 2},
          {"intermediate_size", 112},
          {"vocab_size", 320}};
}

/// A config.json like Llama's, for another family.
inline Json OfType(const std::string& model_type, const std::string& architecture) {
  Json config = Llama();
  config["model_type"] = model_type;
  config["architectures"] = {architecture};
  return config;
}

inline Json Mistral() { return OfType("mistral", "MistralForCausalLM"); }
inline Json Qwen2() { return OfType("qwen2", "Qwen2ForCausalLM"); }
inline Json Qwen3() {
  Json config = OfType("qwen3", "Qwen3ForCausalLM");
  config["head_dim"] = 16;
  return config;
}
inline Json Gemma() { return OfType("gemma", "GemmaForCausalLM"); }
inline Json Gemma2() { return OfType("gemma2", "Gemma2ForCausalLM"); }
inline Json Gemma3() { return OfType("gemma3_text", "Gemma3ForCausalLM"); }

inline Json With(Json config, const std::string& field, const Json& value) {
  config[field] = value;
  return config;
}

inline Json Without(Json config, const std::string& field) {
  config.erase(field);
  return config;
}

inline ModelConfig Parse(const Json& config) {
  return ParseModelConfig(config.dump(), "dir/config.json");
}

/// The message of the StartupError. If there is none, the test fails and the message is empty.
inline std::string ErrorOfText(std::string_view text) {
  try {
    ParseModelConfig(text, "dir/config.json");
  } catch (const StartupError& error) {
    const std::string message = error.what();
    EXPECT_THAT(message, ::testing::AllOf(::testing::Not(::testing::HasSubstr("\n")),
                                          ::testing::StartsWith("dir/config.json: ")));
    EXPECT_LT(message.size(), 450U);
    return message;
  }
  ADD_FAILURE() << "accepted: " << text.substr(0, 400);
  return {};
}

/// The theta of all layers.
inline double RopeTheta(const ModelConfig& config) {
  EXPECT_EQ(config.rope_tables.size(), 1U);
  for (const LayerConfig& layer : config.layers) {
    EXPECT_EQ(layer.rope_table, 0U);
  }
  return config.rope_tables.at(0).theta;
}

inline std::string ErrorOf(const Json& config) { return ErrorOfText(config.dump()); }

}  // namespace scorecast::proto
