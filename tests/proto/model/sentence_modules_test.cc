// Directories as the versions of sentence-transformers write them, and malformed ones.

#include "proto/model/sentence_modules.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/model/model_config.h"
#include "tests/proto/model/config_json.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::proto {
namespace sentence_modules_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kOld[] = "sentence_transformers.models.";

Json Module(const std::string& type, const std::string& path) {
  return {{"idx", 0}, {"name", "0"}, {"path", path}, {"type", type}};
}

/// A directory of an embedding model whose hidden_size is 48.
class Directory {
 public:
  Directory() {
    Write("config.json", Llama());
    SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}});
    Write("1_Pooling/config.json",
          {{"word_embedding_dimension", 48}, {"pooling_mode_mean_tokens", true}});
  }

  void Write(const std::string& name, const Json& json) const { WriteText(name, json.dump()); }
  void WriteText(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((dir_.path() / name).parent_path());
    std::ofstream(dir_.path() / name) << text;
  }
  void SetModules(const std::vector<std::pair<std::string, std::string>>& modules,
                  const std::string& before = kOld) const {
    Json list = Json::array();
    for (const auto& [type, path] : modules) {
      list.push_back(Module(before + type, path));
    }
    Write("modules.json", list);
  }
  /// Adds a Dense module, with an empty file of weights.
  void AddDense(const Json& config) const {
    SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}});
    Write("2_Dense/config.json", config);
    WriteText("2_Dense/model.safetensors", "");
  }

  ReadHead Read() const { return ReadSentenceModules(dir_.path(), 48).read_head.value(); }
  ModelConfig Load(Task task = Task::kOfDirectory) const {
    return LoadModelConfig(dir_.path(), task);
  }
  /// The message of the StartupError, without the directory.
  std::string Fault(Task task = Task::kOfDirectory) const {
    try {
      Load(task);
    } catch (const StartupError& error) {
      const std::string message = error.what();
      EXPECT_THAT(message, AllOf(StartsWith(dir_.path().string()), Not(HasSubstr("\n"))));
      return message.substr(dir_.path().string().size());
    }
    ADD_FAILURE() << "accepted";
    return {};
  }
  std::string FaultOf(const std::string& name, const Json& json) const {
    Write(name, json);
    return Fault();
  }

 private:
  const reference::TempDirectory dir_;
};

TEST(SentenceModules, AreThoseOfAnyVersion) {
  const Directory dir;
  dir.Write("2_Dense/config.json", {{"in_features", 48},
                                    {"out_features", 24},
                                    {"bias", true},
                                    {"activation_function", "torch.nn.modules.activation.Tanh"}});
  dir.WriteText("2_Dense/model.safetensors", "");
  const ReadHead expected{.pooling = {Pooling::kMean},
                          .steps = {{.weight = "linear.weight",
                                     .bias = "linear.bias",
                                     .activation = HeadActivation::kTanh,
                                     .out_features = 24,
                                     .file = "2_Dense/model.safetensors"}},
                          .normalize = true,
                          .output_size = 24};
  dir.SetModules({{"Transformer", ""},
                  {"Pooling", "1_Pooling"},
                  {"Dropout", "x"},
                  {"Dense", "2_Dense"},
                  {"Normalize", "3_Normalize"}});
  EXPECT_EQ(dir.Read(), expected);

  // Version 6.
  dir.Write(
      "modules.json",
      {Module("sentence_transformers.base.modules.transformer.Transformer", ""),
       Module("sentence_transformers.sentence_transformer.modules.pooling.Pooling", "1_Pooling"),
       Module("sentence_transformers.base.modules.dense.Dense", "2_Dense"),
       Module("sentence_transformers.base.modules.normalize.Normalize", "3_Normalize")});
  dir.Write("1_Pooling/config.json",
            {{"embedding_dimension", 48}, {"pooling_mode", "mean"}, {"include_prompt", true}});
  dir.Write("3_Normalize/config.json", {{"module_input_name", "sentence_embedding"}});
  EXPECT_EQ(dir.Read(), expected);
}

TEST(SentenceModules, AreAbsentOrHaveNoPooling) {
  const reference::TempDirectory empty;
  EXPECT_FALSE(ReadSentenceModules(empty.path(), 48).read_head);
  const Directory dir;
  dir.SetModules({{"Transformer", ""}});  // A CrossEncoder of version 6.
  EXPECT_FALSE(dir.Load().read_head);
  // A reranker.
  dir.SetModules({{"Transformer", ""}, {"LogitScore", "1_LogitScore"}});
  EXPECT_FALSE(dir.Load().read_head);
  // Of a model without a head, nothing else would be left.
  dir.Write("config.json", With(Llama(), "architectures", {"LlamaModel"}));
  dir.SetModules({{"Transformer", ""}, {"SpladePooling", "1_SpladePooling"}});
  EXPECT_THAT(dir.Fault(), HasSubstr("no Pooling module, but one of type "
                                     "\"sentence_transformers.models.SpladePooling\", which is "
                                     "not supported"));
  EXPECT_EQ(dir.Load(Task::kEmbed).read_head->pooling, std::vector{Pooling::kMean});
}

TEST(SentenceModules, PoolByTheModesThatAreOn) {
  const Directory dir;
  const auto pooling = [&](const Json& config) {
    dir.Write("1_Pooling/config.json", config);
    return dir.Read().pooling;
  };
  EXPECT_THAT(pooling({{"pooling_mode_cls_token", true}}), ElementsAre(Pooling::kCls));
  EXPECT_THAT(pooling({{"pooling_mode_lasttoken", true}}), ElementsAre(Pooling::kLast));
  EXPECT_THAT(pooling(Json::object()), ElementsAre(Pooling::kMean));
  EXPECT_THAT(pooling({{"pooling_mode_lasttoken", true},
                       {"pooling_mode_mean_tokens", true},
                       {"pooling_mode_max_tokens", true},
                       {"pooling_mode_cls_token", true},
                       {"pooling_mode_weightedmean_tokens", false}}),
              ElementsAre(Pooling::kCls, Pooling::kMax, Pooling::kMean, Pooling::kLast));
  EXPECT_EQ(dir.Read().output_size, 4 * 48);
  EXPECT_THAT(pooling({{"pooling_mode", "lasttoken"}}), ElementsAre(Pooling::kLast));
  EXPECT_THAT(pooling({{"pooling_mode", {"mean", "cls"}}}),
              ElementsAre(Pooling::kCls, Pooling::kMean));
}

TEST(SentenceModules, CutTheResult) {
  const Directory dir;
  dir.Write("config_sentence_transformers.json", {{"truncate_dim", 16}});
  EXPECT_EQ(dir.Read().output_size, 16);
  dir.Write("config_sentence_transformers.json", {{"truncate_dim", nullptr}});
  EXPECT_EQ(dir.Read().output_size, 48);
}

TEST(SentenceModules, OfDenseHaveDefaults) {
  const Directory dir;
  dir.AddDense({{"in_features", 48}, {"out_features", 7}});
  EXPECT_EQ(dir.Read().steps.at(0).activation, HeadActivation::kTanh);
  EXPECT_EQ(dir.Read().steps.at(0).bias, "linear.bias");
  dir.AddDense({{"in_features", 48},
                {"out_features", 7},
                {"bias", false},
                {"activation_function", "torch.nn.modules.linear.Identity"}});
  EXPECT_EQ(dir.Read().steps.at(0).activation, HeadActivation::kIdentity);
  EXPECT_EQ(dir.Read().steps.at(0).bias, "");
}

TEST(SentenceModules, MakeAnEmbedderUnlessTheTaskSaysOtherwise) {
  const Directory dir;
  EXPECT_TRUE(dir.Load().is_embedder());
  EXPECT_EQ(dir.Load().output_size(), 48);
  EXPECT_TRUE(dir.Load(Task::kEmbed).is_embedder());
  EXPECT_FALSE(dir.Load(Task::kGenerate).read_head);
  EXPECT_THAT(dir.Fault(Task::kClassify), HasSubstr("a LlamaForCausalLM cannot classify"));
  dir.Write("config.json", With(Llama(), "architectures", {"LlamaForSequenceClassification"}));
  EXPECT_TRUE(dir.Load().is_embedder());
  EXPECT_TRUE(dir.Load(Task::kClassify).is_classifier());
  EXPECT_THAT(dir.Fault(Task::kGenerate),
              HasSubstr("a LlamaForSequenceClassification cannot generate"));
}

TEST(SentenceModules, OfMalformedFilesAreRefused) {
  const Directory dir;
  const auto fault = [&](const Json& json) { return dir.FaultOf("modules.json", json); };
  dir.WriteText("modules.json", "[{");
  EXPECT_THAT(dir.Fault(), HasSubstr("modules.json: not valid JSON at byte 3"));
  EXPECT_THAT(fault(Json::object()), HasSubstr("modules.json: not a JSON list"));
  EXPECT_THAT(fault({"x"}), HasSubstr("modules.json: [0] is not an object"));
  EXPECT_THAT(fault({{{"path", ""}}}), HasSubstr("modules.json: [0].type is missing"));
  EXPECT_THAT(fault({{{"type", 3}}}), HasSubstr("modules.json: [0].type is 3: it must be a name"));
  EXPECT_THAT(fault({Module("a.Transformer", ""), Module("a.Pooling", "../other")}),
              HasSubstr("[1].path is \"../other\": it must be a folder of the model's directory"));
  EXPECT_THAT(fault({Module("a.Transformer", ""), Module("a.Pooling", "/tmp")}),
              HasSubstr("[1].path is \"/tmp\""));
  EXPECT_THAT(fault({Module("a.Transformer", "0_Transformer"), Module("a.Pooling", "1_Pooling")}),
              HasSubstr("the model itself is in the folder \"0_Transformer\""));
}

TEST(SentenceModules, OfOtherTypesOrInOtherPlacesAreRefused) {
  const Directory dir;
  const auto fault = [&](const std::vector<std::pair<std::string, std::string>>& modules) {
    dir.SetModules(modules);
    return dir.Fault();
  };
  EXPECT_THAT(fault({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"LayerNorm", "2"}}),
              HasSubstr("modules.json: a module of type \"sentence_transformers.models.LayerNorm\" "
                        "is not supported (supported are Transformer"));
  EXPECT_THAT(fault({{"Transformer", ""}, {"LSTM", "1"}, {"Pooling", "1_Pooling"}}),
              HasSubstr("models.LSTM\" is not supported ("));
  EXPECT_THAT(fault({{"StaticEmbedding", ""}, {"Pooling", "1_Pooling"}}),
              HasSubstr("models.StaticEmbedding\" is the first one ("));
  EXPECT_THAT(fault({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Pooling", "1_Pooling"}}),
              HasSubstr("models.Pooling\" is not supported in this place ("));
  EXPECT_THAT(fault({{"Transformer", ""}, {"Normalize", "2"}, {"Pooling", "1_Pooling"}}),
              HasSubstr("models.Normalize\" is not supported in this place ("));
  EXPECT_THAT(
      fault({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Normalize", "2"}, {"Dense", "3"}}),
      HasSubstr("models.Dense\" is not supported in this place ("));
}

TEST(SentenceModules, OfUnsupportedPoolingsAreRefused) {
  const Directory dir;
  const auto fault = [&](const Json& json) { return dir.FaultOf("1_Pooling/config.json", json); };
  EXPECT_THAT(fault({{"pooling_mode_mean_sqrt_len_tokens", true}}),
              HasSubstr("1_Pooling/config.json: pooling_mode_mean_sqrt_len_tokens is true: not "
                        "supported (supported are cls, max, mean and lasttoken)"));
  EXPECT_THAT(fault({{"pooling_mode_weightedmean_tokens", true}}),
              HasSubstr("pooling_mode_weightedmean_tokens is true"));
  EXPECT_THAT(fault({{"pooling_mode", "weightedmean"}}),
              HasSubstr("pooling_mode is \"weightedmean\": not supported"));
  EXPECT_THAT(fault({{"pooling_mode", "median"}}), HasSubstr("pooling_mode is \"median\""));
  EXPECT_THAT(fault({{"pooling_mode", {"mean", 3}}}), HasSubstr("pooling_mode is 3"));
  EXPECT_THAT(fault({{"pooling_mode_cls_token", "yes"}}),
              HasSubstr("pooling_mode_cls_token is \"yes\": it must be true or false"));
  EXPECT_THAT(fault({{"word_embedding_dimension", 32}}),
              HasSubstr("word_embedding_dimension is 32: the model's hidden_size is 48"));
  EXPECT_THAT(fault(Json::array()), HasSubstr("1_Pooling/config.json: not a JSON object"));
  dir.SetModules({{"Transformer", ""}, {"Pooling", "none"}});
  EXPECT_THAT(dir.Fault(), HasSubstr("none/config.json"));
}

TEST(SentenceModules, OfUnsupportedDenseAreRefused) {
  const Directory dir;
  const Json plain = {{"in_features", 48}, {"out_features", 24}};
  const auto fault = [&](const Json& json) {
    dir.AddDense(json);
    return dir.Fault();
  };
  EXPECT_THAT(fault(Without(plain, "in_features")),
              HasSubstr("2_Dense/config.json: in_features is missing"));
  EXPECT_THAT(fault(With(plain, "in_features", 24)),
              HasSubstr("in_features is 24, but it gets 48 values"));
  EXPECT_THAT(fault(With(plain, "out_features", 0)), HasSubstr("out_features is 0"));
  EXPECT_THAT(fault(With(plain, "use_residual", true)),
              HasSubstr("use_residual is true: not supported"));
  EXPECT_THAT(fault(With(plain, "activation_function", "mine.Tanh")),
              HasSubstr("activation_function is \"mine.Tanh\": supported are PyTorch's Identity"));
  EXPECT_THAT(fault(With(plain, "activation_function", "torch.nn.modules.activation.Softmax")),
              HasSubstr("activation_function is \"torch.nn.modules.activation.Softmax\""));
  EXPECT_THAT(fault(With(plain, "module_input_name", "token_embeddings")),
              HasSubstr("module_input_name is \"token_embeddings\": supported is "
                        "sentence_embedding"));
}

TEST(SentenceModules, OfDenseNeedSafetensors) {
  const Directory dir;
  dir.SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}});
  dir.Write("2_Dense/config.json", {{"in_features", 48}, {"out_features", 24}});
  EXPECT_THAT(dir.Fault(), HasSubstr("2_Dense/model.safetensors: there is no such file"));
  dir.WriteText("2_Dense/pytorch_model.bin", "");
  EXPECT_THAT(dir.Fault(), HasSubstr("only a pytorch_model.bin, which is not read"));
}

TEST(SentenceModules, AreRefusedIfTheCutIs) {
  const Directory dir;
  EXPECT_THAT(dir.FaultOf("config_sentence_transformers.json", {{"truncate_dim", 49}}),
              HasSubstr("truncate_dim is 49: it must be from 1 to 48"));
  EXPECT_THAT(dir.FaultOf("config_sentence_transformers.json", {{"truncate_dim", "x"}}),
              HasSubstr("truncate_dim is \"x\""));
}

TEST(BidirectionalDecoders, PoolTheirRows) {
  const Json embedder = OfType("llama_bidirec", "LlamaBidirectionalModel");
  const auto pooling = [](const Json& config) { return Parse(config).read_head->pooling; };
  EXPECT_TRUE(Parse(embedder).bidirectional);
  EXPECT_TRUE(Parse(embedder).is_embedder());
  EXPECT_THAT(pooling(embedder), ElementsAre(Pooling::kMean));
  EXPECT_THAT(pooling(With(embedder, "pooling", "cls")), ElementsAre(Pooling::kCls));
  EXPECT_THAT(pooling(With(embedder, "pooling", "last")), ElementsAre(Pooling::kLast));
  EXPECT_THAT(ErrorOf(With(embedder, "pooling", "colbert")),
              HasSubstr("pooling is \"colbert\": supported are avg, cls and last"));

  Json classifier = OfType("llama_bidirec", "LlamaBidirectionalForSequenceClassification");
  classifier["id2label"] = {{"0", "LABEL_0"}};
  classifier["temperature"] = 0.25;
  const ReadHead head{.pooling = {Pooling::kMean},
                      .steps = {{.weight = "score.weight", .out_features = 1}},
                      .temperature = 0.25,
                      .output_size = 1};
  EXPECT_EQ(Parse(classifier).read_head, head);
  EXPECT_TRUE(Parse(classifier).is_classifier());
  EXPECT_THAT(ErrorOf(With(classifier, "temperature", 0)), HasSubstr("temperature is 0"));
}

TEST(BidirectionalDecoders, HaveWindowsOfBothSides) {
  Json config = With(Gemma3(), "architectures", {"Gemma3TextModel"});
  config["sliding_window"] = 16;
  EXPECT_EQ(Parse(config).layers.at(0).sliding_window, 16);
  EXPECT_FALSE(Parse(config).bidirectional);
  EXPECT_TRUE(Parse(config).is_embedder());
  config["use_bidirectional_attention"] = nullptr;
  EXPECT_FALSE(Parse(config).bidirectional);
  config["use_bidirectional_attention"] = true;
  EXPECT_TRUE(Parse(config).bidirectional);
  EXPECT_EQ(Parse(config).layers.at(0).sliding_window, 9);
  EXPECT_THAT(ErrorOf(With(config, "use_bidirectional_attention", "all")),
              HasSubstr("use_bidirectional_attention is \"all\""));
}

}  // namespace sentence_modules_test
}  // namespace scorecast::proto
