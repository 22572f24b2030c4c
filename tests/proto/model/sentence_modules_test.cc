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
#include "tests/reference/directories.h"
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

/// The message of the StartupError, without the directory.
std::string FaultOfDirectory(const std::filesystem::path& dir, Task task = Task::kOfDirectory) {
  try {
    LoadModelConfig(dir, task);
  } catch (const StartupError& error) {
    const std::string message = error.what();
    EXPECT_THAT(message, AllOf(StartsWith(dir.string()), Not(HasSubstr("\n"))));
    return message.substr(dir.string().size());
  }
  ADD_FAILURE() << "accepted";
  return {};
}

/// A directory of a model whose hidden_size is 48; of an embedder, unless files are changed.
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
  void Remove(const std::string& name) const { std::filesystem::remove(dir_.path() / name); }
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

  /// Adds a LayerNorm module as AddDense does.
  void AddLayerNorm(const Json& config) const {
    SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"LayerNorm", "2_LayerNorm"}});
    Write("2_LayerNorm/config.json", config);
    WriteText("2_LayerNorm/model.safetensors", "");
  }

  ReadHead Read() const { return SentenceModules(dir_.path()).Head(48); }
  ModelConfig Load(Task task = Task::kOfDirectory) const {
    return LoadModelConfig(dir_.path(), task);
  }
  std::string Fault(Task task = Task::kOfDirectory) const {
    return FaultOfDirectory(dir_.path(), task);
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
  const SentenceModules none(empty.path());
  none.RefuseUnsupported();
  EXPECT_FALSE(none.make_embeddings());
  EXPECT_FALSE(none.make_scores());
  const Directory dir;
  dir.SetModules({{"Transformer", ""}});  // A CrossEncoder of version 6.
  EXPECT_FALSE(dir.Load().read_head);
  // A reranker.
  dir.SetModules({{"Transformer", ""}, {"LogitScore", "1_LogitScore"}});
  EXPECT_FALSE(dir.Load().read_head);
  for (const char* architecture : {"LlamaModel", "LlamaForCausalLM"}) {
    dir.Write("config.json", With(Llama(), "architectures", {architecture}));
    dir.SetModules({{"Transformer", ""}, {"Dense", "1_Dense"}});
    EXPECT_THAT(dir.Fault(),
                HasSubstr("models.Dense\" is not supported without a Pooling module ("));
    dir.SetModules({{"Transformer", ""}, {"Dropout", "x"}, {"Normalize", "1_Normalize"}});
    EXPECT_THAT(dir.Fault(), HasSubstr("models.Normalize\" is not supported without a Pooling"));
  }
}

// The pooling is SentenceTransformer's for a model without modules.
TEST(SentenceModules, AreThoseOfSentenceTransformerIfTheTaskIsToEmbed) {
  const Directory dir;
  dir.SetModules({{"Transformer", ""}, {"SpladePooling", "1_SpladePooling"}});
  const auto pooling = [&](const char* architecture) {
    dir.Write("config.json", With(Llama(), "architectures", {architecture}));
    const ModelConfig config = dir.Load(Task::kEmbed);
    EXPECT_TRUE(config.is_embedder());
    EXPECT_EQ(config.output_size(), 48);
    return config.read_head->pooling;
  };
  EXPECT_THAT(pooling("LlamaModel"), ElementsAre(Pooling::kMean));
  EXPECT_THAT(pooling("LlamaForSequenceClassification"), ElementsAre(Pooling::kMean));
  EXPECT_THAT(pooling("LlamaForCausalLM"), ElementsAre(Pooling::kLast));
  // Modules of another class do not count.
  dir.SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}});
  for (const char* name : {"CrossEncoder", "SparseEncoder", "MultiVectorEncoder"}) {
    dir.Write("config_sentence_transformers.json", {{"model_type", name}, {"truncate_dim", 7}});
    EXPECT_THAT(pooling("LlamaForCausalLM"), ElementsAre(Pooling::kLast)) << name;
  }
}

/// A directory of a CrossEncoder: Dense, LayerNorm, and Dense to one score.
void MakeCrossEncoder(const Directory& dir) {
  dir.Write("config_sentence_transformers.json",
            {{"model_type", "CrossEncoder"}, {"truncate_dim", 7}});
  dir.SetModules({{"Transformer", ""},
                  {"Pooling", "1_Pooling"},
                  {"Dense", "2_Dense"},
                  {"LayerNorm", "3_LayerNorm"},
                  {"Dense", "4_Dense"}});
  dir.Write("2_Dense/config.json", {{"in_features", 48},
                                    {"out_features", 30},
                                    {"bias", false},
                                    {"activation_function", "torch.nn.modules.activation.GELU"},
                                    {"module_input_name", "sentence_embedding"},
                                    {"module_output_name", "sentence_embedding"}});
  dir.Write("3_LayerNorm/config.json", {{"dimension", 30}});
  dir.Write("4_Dense/config.json", {{"in_features", 30},
                                    {"out_features", 1},
                                    {"activation_function", "torch.nn.modules.linear.Identity"},
                                    {"module_input_name", "sentence_embedding"},
                                    {"module_output_name", "scores"}});
  for (const char* folder : {"2_Dense", "3_LayerNorm", "4_Dense"}) {
    dir.WriteText(std::string(folder) + "/model.safetensors", "");
  }
}

const Json kScores = {{"in_features", 30}, {"out_features", 3}, {"module_output_name", "scores"}};

TEST(SentenceModules, MakeScoresOfACrossEncoder) {
  const Directory dir;
  MakeCrossEncoder(dir);
  const ReadHead expected{.pooling = {Pooling::kMean},
                          .steps = {{.weight = "linear.weight",
                                     .activation = HeadActivation::kGelu,
                                     .out_features = 30,
                                     .file = "2_Dense/model.safetensors"},
                                    {.norm = "norm.weight",
                                     .norm_bias = "norm.bias",
                                     .out_features = 30,
                                     .file = "3_LayerNorm/model.safetensors"},
                                    {.weight = "linear.weight",
                                     .bias = "linear.bias",
                                     .out_features = 1,
                                     .file = "4_Dense/model.safetensors"}},
                          .output_size = 1};
  for (const char* architecture :
       {"LlamaModel", "LlamaForCausalLM", "LlamaForSequenceClassification"}) {
    SCOPED_TRACE(architecture);
    dir.Write("config.json", With(Llama(), "architectures", {architecture}));
    for (const Task task : {Task::kOfDirectory, Task::kClassify}) {
      const ModelConfig config = dir.Load(task);
      EXPECT_EQ(config.read_head, expected);
      EXPECT_EQ(config.num_labels, 1);
      EXPECT_TRUE(config.is_classifier());
      EXPECT_TRUE(config.read_head->ends_with_module());
    }
  }
  EXPECT_EQ(Describe(expected),
            "mean pooling, dense to 30 without bias, gelu, layer norm, dense to 1: 1 value");
  dir.Write("4_Dense/config.json", kScores);
  EXPECT_EQ(dir.Load().num_labels, 3);
  dir.Write("config.json", Llama());
  EXPECT_FALSE(dir.Load(Task::kGenerate).read_head);
}

TEST(SentenceModules, OfACrossEncoderMustMakeScores) {
  const Directory dir;
  const auto fault = [&](const std::string& name, const Json& json) {
    MakeCrossEncoder(dir);
    return dir.FaultOf(name, json);
  };
  EXPECT_THAT(fault("4_Dense/config.json", Without(kScores, "module_output_name")),
              HasSubstr("modules.json: the last module of a CrossEncoder must be a Dense module "
                        "whose module_output_name is scores"));
  EXPECT_THAT(fault("4_Dense/config.json", With(kScores, "module_output_name", "other")),
              HasSubstr("4_Dense/config.json: module_output_name is \"other\": supported is "
                        "sentence_embedding or scores"));
  EXPECT_THAT(fault("4_Dense/config.json", With(kScores, "module_input_name", "token_embeddings")),
              HasSubstr("module_input_name is \"token_embeddings\": supported is "
                        "sentence_embedding"));
  EXPECT_THAT(fault("4_Dense/config.json", With(kScores, "out_features", 1 << 17)),
              HasSubstr("out_features is 131072: it must be from 1 to 65536"));
  EXPECT_THAT(
      fault("2_Dense/config.json", With(With(kScores, "in_features", 48), "out_features", 30)),
      HasSubstr("models.LayerNorm\" is not supported in this place"));
  EXPECT_THAT(fault("config_sentence_transformers.json", {{"model_type", "SentenceTransformer"}}),
              HasSubstr("4_Dense/config.json: module_output_name is \"scores\": supported is "
                        "sentence_embedding"));
  MakeCrossEncoder(dir);
  dir.SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Normalize", "2_Normalize"}});
  EXPECT_THAT(dir.Fault(), HasSubstr("the last module of a CrossEncoder must be a Dense module"));
  dir.SetModules({{"Transformer", ""}});
  dir.Write("config.json", With(Llama(), "architectures", {"LlamaModel"}));
  EXPECT_THAT(dir.Fault(), HasSubstr("a LlamaModel has no head that makes the scores of a "
                                     "CrossEncoder"));
  dir.Write("config.json", With(Llama(), "architectures", {"LlamaForSequenceClassification"}));
  EXPECT_TRUE(dir.Load().is_classifier());
}

TEST(SentenceModules, OfACrossEncoderPoolItsDefaultPrompt) {
  const Directory dir;
  MakeCrossEncoder(dir);
  dir.Write("1_Pooling/config.json", {{"pooling_mode", "mean"}, {"include_prompt", false}});
  EXPECT_TRUE(dir.Load().is_classifier());
  EXPECT_THAT(dir.FaultOf("config_sentence_transformers.json",
                          {{"model_type", "CrossEncoder"}, {"default_prompt_name", "query"}}),
              HasSubstr("1_Pooling/config.json: include_prompt is false: not supported in a "
                        "CrossEncoder that has a default_prompt_name"));
}

TEST(SentenceModules, NeedTheRowsOfTheModel) {
  const Directory dir;
  dir.Write("sentence_bert_config.json", {{"transformer_task", "feature-extraction"}});
  EXPECT_EQ(dir.Read().output_size, 48);
  MakeCrossEncoder(dir);
  EXPECT_EQ(dir.Read().output_size, 1);
  for (const char* task : {"sequence-classification", "fill-mask"}) {
    EXPECT_THAT(dir.FaultOf("sentence_bert_config.json", {{"transformer_task", task}}),
                HasSubstr("sentence_bert_config.json: transformer_task is \"" + std::string(task) +
                          "\": a Pooling module needs feature-extraction"));
  }
}

TEST(SentenceModules, OfACrossEncoderHaveNoProblemType) {
  const Directory dir;
  MakeCrossEncoder(dir);
  Json config = With(Llama(), "architectures", {"LlamaForSequenceClassification"});
  config["problem_type"] = "multi_label_classification";
  dir.Write("config.json", config);
  EXPECT_FALSE(dir.Load().problem_type);
  EXPECT_TRUE(dir.Load().is_classifier());
}

TEST(SentenceModules, OfOtherClassesAreRefusedAsSentenceTransformersSavesThem) {
  const std::filesystem::path refused =
      std::filesystem::path(reference::kTestsDirectory) / "golden" / "refused";
  const char* const place = "/config_sentence_transformers.json: model_type is \"";
  EXPECT_THAT(FaultOfDirectory(refused / "st-colbert"),
              StartsWith(place + std::string("MultiVectorEncoder\": models that make several")));
  EXPECT_THAT(FaultOfDirectory(refused / "st-splade"),
              StartsWith(place + std::string("SparseEncoder\": models that make sparse vectors")));
}

TEST(SentenceModules, OfOtherClassesAreRefused) {
  const Directory dir;
  const auto fault = [&](const Json& name) {
    return dir.FaultOf("config_sentence_transformers.json", {{"model_type", name}});
  };
  for (const char* name : {"MultiVectorEncoder", "ColBERT"}) {
    EXPECT_THAT(fault(name), HasSubstr("config_sentence_transformers.json: model_type is \"" +
                                       std::string(name) +
                                       "\": models that make several vectors of a text "
                                       "(ColBERT) are not supported"));
  }
  EXPECT_THAT(fault("SparseEncoder"), HasSubstr("models that make sparse vectors (SPLADE) are "
                                                "not supported"));
  EXPECT_THAT(fault("Mine"), HasSubstr("model_type is \"Mine\": supported are "
                                       "SentenceTransformer and CrossEncoder"));
  EXPECT_THAT(fault(3), HasSubstr("model_type is 3: it must be a name"));
  EXPECT_THAT(fault(nullptr), HasSubstr("model_type is null: it must be a name"));
  dir.WriteText("config_sentence_transformers.json", "");
  EXPECT_THAT(dir.Fault(), HasSubstr("config_sentence_transformers.json: not valid JSON"));
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
              ElementsAre(Pooling::kMean, Pooling::kCls));
  EXPECT_THAT(pooling({{"pooling_mode", {"cls", "cls"}}}),
              ElementsAre(Pooling::kCls, Pooling::kCls));
  EXPECT_EQ(dir.Read().output_size, 2 * 48);
  EXPECT_THAT(pooling({{"pooling_mode", {"max"}}}), ElementsAre(Pooling::kMax));
  // sentence-transformers drops the older fields then.
  EXPECT_THAT(pooling({{"pooling_mode", {"max", "cls", "max"}},
                       {"pooling_mode_mean_tokens", true},
                       {"pooling_mode_weightedmean_tokens", true}}),
              ElementsAre(Pooling::kMax, Pooling::kCls, Pooling::kMax));
}

TEST(SentenceModules, CutTheResult) {
  const Directory dir;
  dir.Write("config_sentence_transformers.json", {{"truncate_dim", 16}});
  EXPECT_EQ(dir.Read().output_size, 16);
  for (const Json& size : {Json(nullptr), Json(48), Json(49), Json(1024)}) {
    dir.Write("config_sentence_transformers.json", {{"truncate_dim", size}});
    EXPECT_EQ(dir.Read().output_size, 48) << size;
  }
  dir.AddLayerNorm({{"dimension", 48}});
  dir.Write("config_sentence_transformers.json", {{"truncate_dim", 16}});
  EXPECT_EQ(dir.Read().output_size, 16);
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

TEST(SentenceModules, MayBeALayerNorm) {
  const Directory dir;
  dir.AddLayerNorm({{"dimension", 48}});
  const ReadHead expected{.pooling = {Pooling::kMean},
                          .steps = {{.norm = "norm.weight",
                                     .norm_bias = "norm.bias",
                                     .out_features = 48,
                                     .file = "2_LayerNorm/model.safetensors"}},
                          .output_size = 48};
  EXPECT_EQ(dir.Read(), expected);
  EXPECT_EQ(Describe(expected), "mean pooling, layer norm: 48 values");
  EXPECT_TRUE(dir.Load().is_embedder());
  const auto fault = [&](const Json& json) {
    dir.AddLayerNorm(json);
    return dir.Fault();
  };
  EXPECT_THAT(fault({{"dimension", 24}}),
              HasSubstr("2_LayerNorm/config.json: dimension is 24, but it gets 48 values"));
  EXPECT_THAT(fault(Json::object()), HasSubstr("2_LayerNorm/config.json: dimension is missing"));
  dir.SetModules({{"Transformer", ""},
                  {"Pooling", "1_Pooling"},
                  {"Normalize", "3_Normalize"},
                  {"LayerNorm", "2_LayerNorm"}});
  EXPECT_THAT(dir.Fault(), HasSubstr("models.LayerNorm\" is not supported in this place"));
  dir.SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"LayerNorm", "none"}});
  EXPECT_THAT(dir.Fault(), HasSubstr("none/config.json"));
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
  EXPECT_THAT(fault(Json::array()), HasSubstr("modules.json: it names no module"));
  EXPECT_THAT(fault({{{"path", ""}}}), HasSubstr("modules.json: [0].type is missing"));
  EXPECT_THAT(fault({{{"type", 3}}}), HasSubstr("modules.json: [0].type is 3: it must be a name"));
  EXPECT_THAT(fault({Module("a.Transformer", ""), Module("a.Pooling", "../other")}),
              HasSubstr("[1].path is \"../other\": it must be a folder of the model's directory"));
  EXPECT_THAT(fault({Module("a.Transformer", ""), Module("a.Pooling", "/tmp")}),
              HasSubstr("[1].path is \"/tmp\""));
  const std::string old = kOld;
  EXPECT_THAT(
      fault({Module(old + "Transformer", "0_Transformer"), Module(old + "Pooling", "1_Pooling")}),
      HasSubstr("the model itself is in the folder \"0_Transformer\""));
}

TEST(SentenceModules, OfOtherTypesOrInOtherPlacesAreRefused) {
  const Directory dir;
  const auto fault = [&](const std::vector<std::pair<std::string, std::string>>& modules) {
    dir.SetModules(modules);
    return dir.Fault();
  };
  for (const std::string name :
       {"WeightedLayerPooling", "LSTM", "CNN", "WordEmbeddings", "WordWeights", "CLIPModel"}) {
    EXPECT_THAT(fault({{"Transformer", ""}, {name, "1"}, {"Pooling", "1_Pooling"}}),
                HasSubstr("modules.json: a module of type \"sentence_transformers.models." + name +
                          "\" is not supported (supported are Transformer"));
  }
  EXPECT_THAT(fault({{"Pooling", "1_Pooling"}, {"Transformer", ""}}),
              HasSubstr("models.Pooling\" is the first one ("));
  EXPECT_THAT(fault({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Pooling", "1_Pooling"}}),
              HasSubstr("models.Pooling\" is not supported in this place ("));
  EXPECT_THAT(fault({{"Transformer", ""}, {"Normalize", "2"}, {"Pooling", "1_Pooling"}}),
              HasSubstr("models.Normalize\" is not supported in this place ("));
  EXPECT_THAT(
      fault({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Normalize", "2"}, {"Dense", "3"}}),
      HasSubstr("models.Dense\" is not supported in this place ("));
}

// Such a directory may have no config.json.
TEST(SentenceModules, InPlaceOfAModelAreRefusedByName) {
  const Directory dir;
  dir.Remove("config.json");
  for (const std::string name :
       {"Router", "Asym", "StaticEmbedding", "BoW", "MLMTransformer", "SparseStaticEmbedding"}) {
    dir.SetModules({{name, ""}, {"SpladePooling", "1_SpladePooling"}});
    EXPECT_THAT(dir.Fault(), HasSubstr("models." + name + "\" is not supported ("));
    dir.SetModules({{name, ""}, {"Normalize", "1_Normalize"}});
    EXPECT_THAT(dir.Fault(), HasSubstr("models." + name + "\" is not supported ("));
  }
  dir.SetModules({{"Transformer", ""}});
  EXPECT_THAT(dir.Fault(), HasSubstr("config.json: there is no such file"));
}

TEST(SentenceModules, WithCodeOfTheirOwnAreRefused) {
  const Directory dir;
  dir.SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}}, "custom_st.");
  EXPECT_THAT(dir.Fault(), HasSubstr("a module of type \"custom_st.Transformer\" is not "
                                     "supported"));
  dir.Write("modules.json", {Module("sentence_transformers.models.Transformer", ""),
                             Module("mine.Pooling", "1_Pooling")});
  EXPECT_THAT(dir.Fault(), HasSubstr("a module of type \"mine.Pooling\" is not supported"));
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
  EXPECT_THAT(fault({{"pooling_mode", nullptr}}), HasSubstr("pooling_mode is null"));
  EXPECT_THAT(fault({{"pooling_mode", Json::array()}}),
              HasSubstr("pooling_mode is a list of 0 names: it must have from 1 to 64"));
  EXPECT_THAT(fault({{"pooling_mode", std::vector<std::string>(65, "mean")}}),
              HasSubstr("pooling_mode is a list of 65 names"));
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
  EXPECT_THAT(fault(With(plain, "activation_function", nullptr)),
              HasSubstr("activation_function is null"));
  EXPECT_THAT(fault(With(plain, "activation_function", "mine.Tanh")),
              HasSubstr("activation_function is \"mine.Tanh\": supported are PyTorch's Identity"));
  EXPECT_THAT(fault(With(plain, "activation_function", "torch.nn.modules.activation.Softmax")),
              HasSubstr("activation_function is \"torch.nn.modules.activation.Softmax\""));
  EXPECT_THAT(fault(With(plain, "module_input_name", "token_embeddings")),
              HasSubstr("module_input_name is \"token_embeddings\": supported is "
                        "sentence_embedding"));
  EXPECT_THAT(fault(With(plain, "module_output_name", "other")),
              HasSubstr("module_output_name is \"other\": supported is sentence_embedding"));
  EXPECT_THAT(fault(With(plain, "module_input_name", nullptr)),
              HasSubstr("module_input_name is null: it must be a name"));
}

TEST(SentenceModules, OfNormalizeHaveTheNameOfTheVector) {
  const Directory dir;
  dir.SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Normalize", "2_Normalize"}});
  EXPECT_TRUE(dir.Read().normalize) << "the folder may be absent";
  dir.Write("2_Normalize/config.json", {{"module_output_name", nullptr}});
  EXPECT_TRUE(dir.Read().normalize);
  EXPECT_THAT(dir.FaultOf("2_Normalize/config.json", {{"module_input_name", "token_embeddings"}}),
              HasSubstr("2_Normalize/config.json: module_input_name is \"token_embeddings\""));
  EXPECT_THAT(dir.FaultOf("2_Normalize/config.json", {{"module_output_name", "other"}}),
              HasSubstr("module_output_name is \"other\": supported is sentence_embedding"));
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
  for (const int size : {0, -1}) {
    EXPECT_THAT(dir.FaultOf("config_sentence_transformers.json", {{"truncate_dim", size}}),
                HasSubstr("truncate_dim is " + std::to_string(size) + ": it must be from 1"));
  }
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
