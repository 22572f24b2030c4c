// Arguments of sentence_bert_config.json that count as fields of config.json.

#include "proto/model/sentence_bert_file.h"

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
namespace sentence_bert_file_test {

using ::testing::HasSubstr;

class Directory {
 public:
  Directory() {
    Write("config.json", Llama());
    Write("modules.json", Json::array({{{"type", "sentence_transformers.models.Transformer"}}}));
  }

  void Write(const std::string& name, const Json& json) const {
    std::ofstream(path() / name) << json.dump();
  }
  std::filesystem::path path() const { return directory_.path(); }

  ModelConfig Load() const { return LoadModelConfig(path()); }
  /// The message of a refusal; "none" if nothing is refused.
  std::string Fault() const {
    try {
      Load();
    } catch (const StartupError& error) {
      return error.what();
    }
    return "none";
  }

 private:
  const reference::TempDirectory directory_;
};

TEST(ConfigArguments, ReplaceFieldsOfTheConfig) {
  const Directory model;
  const ModelConfig before = model.Load();
  model.Write("sentence_bert_config.json",
              {{"config_kwargs",
                {{"max_position_embeddings", before.max_position_embeddings / 2},
                 {"rms_norm_eps", 0.5},
                 {"attn_implementation", "sdpa"}}}});
  EXPECT_EQ(model.Load().max_position_embeddings, before.max_position_embeddings / 2);
  EXPECT_EQ(model.Load().norm_eps, 0.5);
  // The old name counts more.
  model.Write("sentence_bert_config.json", {{"config_kwargs", {{"rms_norm_eps", 0.5}}},
                                            {"config_args", {{"rms_norm_eps", 0.25}}}});
  EXPECT_EQ(model.Load().norm_eps, 0.25);
  std::filesystem::remove(model.path() / "modules.json");
  EXPECT_EQ(model.Load().norm_eps, before.norm_eps) << "sentence-transformers does not read it";
}

TEST(ConfigArguments, MayCutLayersOff) {
  const Directory model;
  const std::int64_t layers = model.Load().num_hidden_layers();
  ASSERT_GT(layers, 1);
  model.Write("sentence_bert_config.json",
              {{"config_kwargs", {{"num_hidden_layers", layers - 1}}}});
  EXPECT_EQ(model.Load().num_hidden_layers(), layers - 1);
}

TEST(ConfigArguments, OfWhichFieldsFollowAreRefused) {
  const Directory model;
  for (const auto& [arguments, expected] : std::vector<std::pair<Json, std::string>>{
           {{{"rope_theta", 7}},
            "config_kwargs.rope_theta is 7: not supported: write it to config.json"},
           {{{"model_type", "bert"}}, "config_kwargs.model_type is \"bert\": not supported"},
           {{{"rms_norm_eps", "small"}}, "rms_norm_eps is \"small\""},
           {7, "config_kwargs is 7: it must be an object or null"}}) {
    model.Write("sentence_bert_config.json", {{"config_kwargs", arguments}});
    EXPECT_THAT(model.Fault(), HasSubstr("sentence_bert_config.json"));
    EXPECT_THAT(model.Fault(), HasSubstr(expected));
  }
}

TEST(SentenceBertFile, HasOtherNamesInOldDirectories) {
  const Directory model;
  EXPECT_EQ(FindSentenceBertFile(model.path()), std::nullopt);
  model.Write("sentence_albert_config.json", {{"max_seq_length", 5}});
  EXPECT_EQ(FindSentenceBertFile(model.path())->filename(), "sentence_albert_config.json");
  model.Write("sentence_bert_config.json", Json::object());
  EXPECT_EQ(FindSentenceBertFile(model.path())->filename(), "sentence_albert_config.json");
  model.Write("sentence_bert_config.json", {{"max_seq_length", 5}});
  EXPECT_EQ(FindSentenceBertFile(model.path())->filename(), "sentence_bert_config.json");
}

}  // namespace sentence_bert_file_test
}  // namespace scorecast::proto
