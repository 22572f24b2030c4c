#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/model/model_config.h"
#include "tests/proto/model/config_json.h"
#include "tests/reference/directories.h"

namespace scorecast::proto {
namespace encoder_configs_test {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kGoldenDir = std::string(reference::kTestsDirectory) + "/golden/encoders/";

ModelConfig LoadGolden(const std::string& name) { return LoadModelConfig(kGoldenDir + name); }

Json Bert(const std::string& architecture = "BertModel") {
  return Without(OfType("bert", architecture), "num_key_value_heads");
}
Json Roberta() {
  Json config = Bert("XLMRobertaForSequenceClassification");
  config["model_type"] = "xlm-roberta";
  config["max_position_embeddings"] = 514;
  return config;
}
Json ModernBert(const std::string& architecture = "ModernBertModel") {
  Json config = Bert(architecture);
  config["model_type"] = "modernbert";
  return config;
}

TEST(EncoderConfigs, Bert) {
  const ModelConfig config = LoadGolden("bert-classifier-labels");
  EXPECT_TRUE(config.bidirectional);
  EXPECT_EQ(config.num_key_value_heads, 4);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.norm, NormKind::kLayer);
  EXPECT_EQ(config.norm_eps, 1e-12);
  EXPECT_TRUE(config.norm_bias && config.embedding_norm);
  EXPECT_FALSE(config.final_norm || config.gated_feedforward);
  EXPECT_TRUE(config.attention_bias && config.attention_output_bias && config.mlp_bias);
  EXPECT_EQ(config.hidden_activation, Activation::kGeluTanh);  // "gelu_new"
  EXPECT_EQ(config.learned_positions, LearnedPositions{.rows = 96});
  EXPECT_EQ(config.max_position_embeddings, 96);
  EXPECT_EQ(config.type_vocab_size, 2);
  EXPECT_TRUE(config.rope_tables.empty());
  const LayerConfig layer = {
      .input_norm = false, .pre_feedforward_norm = false, .residual_norms = true};
  EXPECT_THAT(config.layers, Each(layer));
  EXPECT_EQ(config.num_labels, 3);
  ASSERT_TRUE(config.read_head);
  EXPECT_THAT(config.read_head->pooling, ElementsAre(Pooling::kCls));
  ASSERT_EQ(config.read_head->steps.size(), 2U);
  EXPECT_EQ(config.read_head->steps[0].weight, "bert.pooler.dense.weight");
  EXPECT_EQ(config.read_head->steps[0].activation, HeadActivation::kTanh);
  EXPECT_EQ(config.read_head->steps[1].bias, "classifier.bias");
  EXPECT_EQ(config.read_head->output_size, 3);
}

TEST(EncoderConfigs, RobertasPositionsAreBehindThePadding) {
  const ModelConfig config = Parse(Roberta());
  EXPECT_EQ(config.max_position_embeddings, 512);
  EXPECT_EQ(config.learned_positions, (LearnedPositions{.rows = 514, .padding = 1}));
  EXPECT_EQ(config.base_prefix, "roberta.");
  const ModelConfig other = Parse(With(Roberta(), "pad_token_id", 4));
  EXPECT_EQ(other.max_position_embeddings, 509);
  EXPECT_EQ(other.learned_positions->padding, 4);
  EXPECT_THAT(ErrorOf(With(With(Roberta(), "max_position_embeddings", 5), "pad_token_id", 4)),
              HasSubstr("no position is left behind pad_token_id, which is 4"));
  EXPECT_THAT(ErrorOf(With(Roberta(), "pad_token_id", 320)), HasSubstr("pad_token_id is 320"));
  const ModelConfig golden = LoadGolden("roberta-classifier");
  EXPECT_EQ(golden.read_head->steps[0].weight, "classifier.dense.weight");
  EXPECT_EQ(golden.read_head->steps[1].weight, "classifier.out_proj.weight");
  EXPECT_EQ(golden.norm_eps, 1e-5);
  EXPECT_EQ(golden.type_vocab_size, 1);
}

TEST(EncoderConfigs, DistilBertHasNamesOfItsOwn) {
  const ModelConfig config = LoadGolden("distilbert-classifier");
  EXPECT_EQ(config.hidden_size, 32);
  EXPECT_EQ(config.num_hidden_layers(), 3);
  EXPECT_EQ(config.num_attention_heads, 4);
  EXPECT_EQ(config.intermediate_size, 80);
  EXPECT_EQ(config.norm_eps, 1e-12);
  EXPECT_EQ(config.type_vocab_size, 0);
  EXPECT_EQ(config.hidden_activation, Activation::kGelu);
  EXPECT_EQ(config.read_head->steps[0].weight, "pre_classifier.weight");
  EXPECT_EQ(config.read_head->steps[0].activation, HeadActivation::kRelu);
}

TEST(EncoderConfigs, ElectraMayHaveSmallEmbeddings) {
  const ModelConfig config = LoadGolden("electra-classifier");
  EXPECT_EQ(config.hidden_size, 32);
  EXPECT_EQ(config.embedding_size, 24);
  EXPECT_EQ(config.read_head->steps[0].weight, "classifier.dense.weight");
  EXPECT_EQ(config.read_head->steps[0].activation, HeadActivation::kGelu);
  Json electra = Bert("ElectraModel");
  electra["model_type"] = "electra";
  EXPECT_EQ(Parse(With(electra, "embedding_size", 48)).embedding_size, std::nullopt);
  EXPECT_THAT(ErrorOf(With(electra, "embedding_size", 49)),
              HasSubstr("embedding_size is 49: it must be from 1 to 48"));
  EXPECT_THAT(ErrorOf(electra), HasSubstr("embedding_size is 128")) << "transformers' default";
  electra["hidden_size"] = 768;
  EXPECT_EQ(Parse(electra).embedding_size, 128);
}

// The window of the file counts both sides. Both spellings of thetas and layers are read.
TEST(EncoderConfigs, ModernBert) {
  for (const std::string name : {"modernbert-classifier", "modernbert-classifier-cls"}) {
    SCOPED_TRACE(name);
    const ModelConfig config = LoadGolden(name);
    EXPECT_THAT(config.rope_tables,
                ElementsAre(RopeConfig{.theta = 160000}, RopeConfig{.theta = 10000}));
    EXPECT_FALSE(config.learned_positions);
    EXPECT_EQ(config.norm_eps, 1e-5);
    EXPECT_FALSE(config.norm_bias);
    EXPECT_TRUE(config.final_norm && config.gated_feedforward && config.embedding_norm);
    EXPECT_EQ(config.layers[0], LayerConfig{.input_norm = false});
    const LayerConfig local = {.rope_table = 1, .sliding_window = 9};
    EXPECT_EQ(config.layers[1], local);
    EXPECT_EQ(config.layers[2], local);
    EXPECT_EQ(config.layers[3], LayerConfig());
    const HeadStep& dense = config.read_head->steps.at(0);
    EXPECT_EQ(dense.bias, "");
    EXPECT_EQ(dense.norm, "head.norm.weight");
    EXPECT_EQ(dense.activation, HeadActivation::kGelu);
    EXPECT_THAT(config.read_head->pooling,
                ElementsAre(name == "modernbert-classifier" ? Pooling::kMean : Pooling::kCls));
  }
  EXPECT_EQ(Parse(ModernBert()).layers[1].sliding_window, 65);
  EXPECT_EQ(Parse(ModernBert()).max_position_embeddings, 8192);
  Json config = ModernBert("ModernBertForSequenceClassification");
  config["classifier_bias"] = true;
  config["classifier_activation"] = "silu";
  EXPECT_EQ(Parse(config).read_head->steps[0].bias, "head.dense.bias");
  EXPECT_EQ(Parse(config).read_head->steps[0].activation, HeadActivation::kSilu);
  EXPECT_THAT(ErrorOf(With(config, "classifier_pooling", "max")),
              HasSubstr("classifier_pooling is \"max\""));
  EXPECT_EQ(Parse(config).read_head->steps[0].norm_bias, "");
  EXPECT_EQ(Parse(With(config, "norm_bias", true)).read_head->steps[0].norm_bias, "head.norm.bias");
}

TEST(EncoderConfigs, OthersThanClassifiersEmbed) {
  for (const char* architecture : {"BertModel", "BertForMaskedLM"}) {
    const ModelConfig config = Parse(Bert(architecture));
    EXPECT_TRUE(config.is_embedder());
    EXPECT_EQ(config.output_size(), 48);
    EXPECT_FALSE(config.tie_word_embeddings);
  }
  EXPECT_EQ(Parse(Without(Bert(), "architectures")).architecture, "BertModel");
}

TEST(EncoderConfigs, OtherEncodersAreRefusedByName) {
  EXPECT_THAT(ErrorOf(With(Bert(), "is_decoder", true)), HasSubstr("is_decoder is true"));
  EXPECT_THAT(ErrorOf(With(Bert(), "position_embedding_type", "relative_key")),
              HasSubstr("position_embedding_type is \"relative_key\""));
  EXPECT_THAT(ErrorOf(With(Roberta(), "auto_map", {{"AutoModel", "repo--modeling.XlmFlash"}})),
              AllOf(HasSubstr("auto_map is an object"), HasSubstr("repo--modeling.XlmFlash")));
  Json nomic = With(Bert("NomicBertModel"), "auto_map", {{"AutoModel", "modeling.NomicBertModel"}});
  nomic.erase("model_type");
  EXPECT_THAT(ErrorOf(nomic), AllOf(HasSubstr("architectures[0] is \"NomicBertModel\""),
                                    HasSubstr("modeling.NomicBertModel")));
  for (const char* architecture : {"DebertaV2ForSequenceClassification", "T5EncoderModel"}) {
    EXPECT_THAT(ErrorOf(OfType("other", architecture)),
                AllOf(HasSubstr(architecture), HasSubstr("relative position"),
                      HasSubstr("bert, roberta, xlm-roberta, camembert, distilbert")));
  }
}

}  // namespace encoder_configs_test
}  // namespace scorecast::proto
