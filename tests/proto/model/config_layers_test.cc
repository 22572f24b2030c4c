#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/model/model_config.h"
#include "tests/proto/model/config_json.h"

namespace scorecast::proto {
namespace config_layers_test {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The sliding window of each layer; 0: none.
std::vector<std::int64_t> Windows(const Json& config) {
  std::vector<std::int64_t> windows;
  for (const LayerConfig& layer : Parse(config).layers) {
    windows.push_back(layer.sliding_window.value_or(0));
  }
  return windows;
}

TEST(LayersTest, LlamaAndGemma1HaveNoWindows) {
  for (const Json& config : {Llama(), Gemma()}) {
    EXPECT_THAT(ErrorOf(With(config, "sliding_window", 4096)), HasSubstr("sliding_window is 4096"));
    EXPECT_NO_THROW(Parse(With(config, "sliding_window", nullptr)));
    EXPECT_THAT(ErrorOf(With(config, "use_sliding_window", true)),
                HasSubstr("use_sliding_window is true"));
  }
}

TEST(LayersTest, MistralHasOneWindowForAllLayers) {
  EXPECT_THAT(Windows(Mistral()), ElementsAre(4096, 4096, 4096));
  EXPECT_THAT(Windows(With(Mistral(), "sliding_window", 1)), ElementsAre(1, 1, 1));
  EXPECT_THAT(Windows(With(Mistral(), "sliding_window", nullptr)), ElementsAre(0, 0, 0));
  const Json full = {"full_attention", "full_attention", "full_attention"};
  const Json sliding = {"sliding_attention", "sliding_attention", "sliding_attention"};
  EXPECT_THAT(Windows(With(Mistral(), "layer_types", sliding)), ElementsAre(4096, 4096, 4096));
  EXPECT_THAT(ErrorOf(With(Mistral(), "layer_types", full)),
              HasSubstr("layer_types[0] is \"full_attention\": in this family"));
  const Json off = With(Mistral(), "sliding_window", nullptr);
  EXPECT_THAT(Windows(With(off, "layer_types", full)), ElementsAre(0, 0, 0));
  EXPECT_THAT(ErrorOf(With(off, "layer_types", sliding)),
              HasSubstr("layer_types[0] is \"sliding_attention\""));
  for (const Json& value : {Json(0), Json(-1), Json(1.5), Json("4096"), Json(false)}) {
    EXPECT_THAT(ErrorOf(With(Mistral(), "sliding_window", value)), HasSubstr("sliding_window is "));
  }
}

TEST(LayersTest, QwenSwitchesItsWindowOn) {
  for (const Json& config : {Qwen2(), Qwen3()}) {
    const Json on = With(With(config, "use_sliding_window", true), "max_window_layers", 2);
    EXPECT_THAT(Windows(With(on, "sliding_window", 4000)), ElementsAre(0, 0, 4000));
    EXPECT_THAT(Windows(on), ElementsAre(0, 0, 4096));
    EXPECT_THAT(Windows(With(on, "max_window_layers", 0)), ElementsAre(4096, 4096, 4096));
    // The window has no effect if it is switched off, if there is none, or if no layer of the model
    // has it.
    EXPECT_THAT(Windows(With(config, "sliding_window", 4096)), Each(0));
    EXPECT_THAT(Windows(With(With(on, "use_sliding_window", false), "sliding_window", 16)),
                Each(0));
    EXPECT_THAT(Windows(With(on, "sliding_window", nullptr)), Each(0));
    EXPECT_THAT(Windows(With(on, "max_window_layers", 3)), Each(0));
    EXPECT_THAT(Windows(With(config, "use_sliding_window", true)), Each(0));
    const std::vector<std::int64_t> deep =
        Windows(With(With(config, "use_sliding_window", true), "num_hidden_layers", 29));
    EXPECT_EQ(deep[27], 0);
    EXPECT_EQ(deep[28], 4096);

    const Json full = {"full_attention", "full_attention", "full_attention"};
    EXPECT_THAT(Windows(With(config, "layer_types", full)), Each(0));
    EXPECT_THAT(Windows(With(on, "layer_types", full)), Each(0));
    const Json first = {"sliding_attention", "full_attention", "full_attention"};
    EXPECT_THAT(Windows(With(on, "layer_types", first)), ElementsAre(4096, 0, 0));
  }
}

TEST(LayersTest, Gemma2AlternatesFromLayer0) {
  const Json config = With(Gemma2(), "num_hidden_layers", 5);
  EXPECT_THAT(Windows(config), ElementsAre(4096, 0, 4096, 0, 4096));
  EXPECT_THAT(Windows(With(config, "sliding_window", 7)), ElementsAre(7, 0, 7, 0, 7));
  EXPECT_THAT(Windows(With(Gemma2(), "layer_types",
                           {"full_attention", "full_attention", "sliding_attention"})),
              ElementsAre(0, 0, 4096));
  EXPECT_THAT(Windows(With(config, "sliding_window_pattern", 3)),
              ElementsAre(4096, 0, 4096, 0, 4096));  // Only Gemma 3 has this field.
  EXPECT_THAT(ErrorOf(With(config, "sliding_window", nullptr)),
              HasSubstr("sliding_window is null"));
}

TEST(LayersTest, Gemma3HasEverySixthLayerFull) {
  const Json config = With(Gemma3(), "num_hidden_layers", 7);
  EXPECT_THAT(Windows(config), ElementsAre(4096, 4096, 4096, 4096, 4096, 0, 4096));
  for (const char* name : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    EXPECT_THAT(Windows(With(config, name, 3)), ElementsAre(4096, 4096, 0, 4096, 4096, 0, 4096));
    EXPECT_THAT(Windows(With(config, name, 1)), Each(0));
    EXPECT_EQ(Windows(With(config, name, nullptr)), Windows(config));
    EXPECT_THAT(ErrorOf(With(config, name, 0)), HasSubstr(std::string(name) + " is 0"));
  }
  Json both = With(config, "sliding_window_pattern", 2);
  EXPECT_NO_THROW(Parse(With(both, "_sliding_window_pattern", 2)));
  EXPECT_THAT(ErrorOf(With(both, "_sliding_window_pattern", 3)),
              HasSubstr("_sliding_window_pattern is 3: it contradicts"));
  // layer_types decides.
  const Json types = {"full_attention", "sliding_attention", "full_attention"};
  const ModelConfig mixed = Parse(With(With(Gemma3(), "layer_types", types), "sliding_window", 9));
  EXPECT_FALSE(mixed.layers[0].sliding_window);
  EXPECT_EQ(mixed.layers[0].rope_table, 0U);
  EXPECT_EQ(mixed.layers[1].sliding_window, 9);
  EXPECT_EQ(mixed.layers[1].rope_table, 1U);
  EXPECT_NO_THROW(
      Parse(With(With(Gemma3(), "sliding_window_pattern", 1), "sliding_window", nullptr)));
}

TEST(LayersTest, LayerTypesThatAreNotSupportedAreNamed) {
  for (const Json& config : {Llama(), Qwen2(), Qwen3(), Gemma()}) {
    EXPECT_THAT(ErrorOf(With(config, "layer_types",
                             {"full_attention", "sliding_attention", "full_attention"})),
                HasSubstr("layer_types[1] is \"sliding_attention\""));
  }
  for (const Json& config : {Llama(), Mistral(), Qwen2(), Qwen3(), Gemma(), Gemma2(), Gemma3()}) {
    EXPECT_THAT(ErrorOf(With(config, "layer_types", {"full_attention"})),
                HasSubstr("num_hidden_layers = 3"));
    EXPECT_THAT(ErrorOf(With(config, "layer_types", "full_attention")),
                HasSubstr("layer_types is \"full_attention\""));
    EXPECT_THAT(ErrorOf(With(config, "layer_types",
                             {"linear_attention", "full_attention", "full_attention"})),
                HasSubstr("layer_types[0] is \"linear_attention\""));
  }
  EXPECT_THAT(ErrorOf(With(Qwen3(), "use_sliding_window", "no")),
              HasSubstr("use_sliding_window is \"no\""));
}

}  // namespace config_layers_test
}  // namespace scorecast::proto
