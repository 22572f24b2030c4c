// The head among a model's tensors: an lm-head, tied or not, or the head of a classifier.

#include "shard/model/tensors.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/model/open_checkpoint.h"
#include "tests/reference/directories.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::shard {
namespace tensors_test {

using nlohmann::json;
using proto::ModelConfig;
using ::testing::HasSubstr;

std::string HeadOf(const ModelConfig& config) {
  const std::vector<TensorSpec> tensors = ModelTensors(config);
  const TensorSpec* head = FindTensor(tensors, TensorRole::kLmHead);
  return head->name + " of " + std::to_string(SizeOf(head->out, config));
}

TEST(ModelTensors, HaveOneHead) {
  ModelConfig config = reference::TinyConfig("llama");
  EXPECT_EQ(HeadOf(config), "lm_head.weight of 200");
  config.tie_word_embeddings = true;
  EXPECT_EQ(HeadOf(config), "model.embed_tokens.weight of 200");
  config.num_labels = 3;
  EXPECT_EQ(HeadOf(config), "score.weight of 3");
  config.tie_word_embeddings = false;
  EXPECT_EQ(HeadOf(config), "score.weight of 3");
}

/// A classifier of three classes, beside a second file with further tensors.
class ClassifierTensors : public ::testing::Test {
 protected:
  void Write(bool head_bias, const std::map<std::string, std::vector<std::int64_t>>& further) {
    reference::RandomCheckpoint checkpoint;
    checkpoint.config = config_;
    checkpoint.head_bias = head_bias;
    checkpoint.shards = 2;
    reference::WriteRandomWeights(dir_.path(), checkpoint);
    json header = json::object();
    std::size_t end = 0;
    for (const auto& [name, shape] : further) {
      const std::size_t begin = end;
      std::int64_t size = sizeof(float);
      for (const std::int64_t extent : shape) {
        size *= extent;
      }
      end += static_cast<std::size_t>(size);
      header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
    }
    const std::string text = header.dump();
    std::ofstream file(dir_.path() / "model-00003-of-00003.safetensors", std::ios::binary);
    const std::uint64_t length = text.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof(length));
    file << text << std::string(end, '\0');
    file.close();

    const std::filesystem::path path = dir_.path() / "model.safetensors.index.json";
    json index = json::parse(std::ifstream(path));
    for (const auto& [name, shape] : further) {
      index["weight_map"][name] = "model-00003-of-00003.safetensors";
    }
    std::ofstream(path) << index;
  }

  void Check() const { CheckTensors(Checkpoint::Open(dir_.path()), config_); }

  void ExpectRefused(const std::string& name) const {
    try {
      Check();
      FAIL() << "accepted";
    } catch (const proto::StartupError& error) {
      EXPECT_THAT(error.what(), HasSubstr(name));
    }
  }

  ClassifierTensors() { config_.num_labels = 3; }

  ModelConfig config_ = reference::TinyConfig("llama");
  const reference::TempDirectory dir_;
};

TEST_F(ClassifierTensors, TheCheckpointDecidesOnABias) {
  Write(false, {});
  Check();
  Write(true, {});
  Check();
  Write(false, {{"score.bias", {4}}});
  ExpectRefused("score.bias");
}

// transformers ignores an lm-head that a checkpoint of a classifier still has.
TEST_F(ClassifierTensors, AnLmHeadIsNotUsed) {
  for (const bool is_tied : {false, true}) {
    config_.tie_word_embeddings = is_tied;
    Write(false, {{"lm_head.weight", {200, 48}}});
    Check();
  }
}

// A pooled row's product with `score`, which is a step of a head.
TEST_F(ClassifierTensors, AreStepsOfAHead) {
  config_.read_head = {.pooling = {proto::Pooling::kMean},
                       .steps = {{.weight = "score.weight", .out_features = 3}},
                       .output_size = 3};
  Write(false, {{"lm_head.weight", {200, 48}}});
  Check();
  EXPECT_EQ(FindTensor(AllTensors(config_), TensorRole::kLmHead), nullptr);
  config_.read_head->pooling.push_back(proto::Pooling::kMax);  // Twice as many values.
  ExpectRefused("score.weight");
}

TEST_F(ClassifierTensors, AreUnusedInAnEmbedder) {
  Write(true, {{"lm_head.weight", {200, 48}}});
  config_.num_labels = 0;
  config_.read_head = {.pooling = {proto::Pooling::kMean}, .output_size = 48};
  Check();
}

TEST_F(ClassifierTensors, AreUnusedIfModulesMakeTheScores) {
  Write(true, {{"lm_head.weight", {200, 48}}, {"2_Dense/linear.weight", {3, 48}}});
  config_.read_head = {.pooling = {proto::Pooling::kCls},
                       .steps = {{.weight = "linear.weight",
                                  .out_features = 3,
                                  .file = "2_Dense/model.safetensors"}},
                       .output_size = 3};
  Check();
  config_.read_head->steps.push_back({.norm = "norm.weight",
                                      .norm_bias = "norm.bias",
                                      .out_features = 3,
                                      .file = "3_LayerNorm/model.safetensors"});
  ExpectRefused("3_LayerNorm/norm.weight");
  Write(true, {{"2_Dense/linear.weight", {3, 48}},
               {"3_LayerNorm/norm.weight", {3}},
               {"3_LayerNorm/norm.bias", {3}}});
  Check();
}

TEST_F(ClassifierTensors, OthersAreRefused) {
  Write(false, {{"classifier.weight", {3, 48}}});
  ExpectRefused("classifier.weight");
  Write(false, {});
  config_.num_labels = 2;
  ExpectRefused("score.weight");
  config_.num_labels = 0;
  ExpectRefused("score.weight");
}

/// Copies a model's directory, with another spelling of two names of its LayerNorms.
void CopyWithTensorFlowNames(const std::filesystem::path& from, const std::filesystem::path& to,
                             std::string_view suffix) {
  std::filesystem::copy_file(from / "config.json", to / "config.json");
  std::ifstream in(from / "model.safetensors", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  // The header keeps its length.
  const std::map<std::string, std::string> spellings = {{"weight\":", "gamma\": "},
                                                        {"bias\":", "beta\":"}};
  for (const auto& [name, old_name] : spellings) {
    const std::string whole = std::string(suffix) + "LayerNorm." + name;
    for (std::size_t at = 0; (at = bytes.find(whole, at)) != std::string::npos; ++at) {
      bytes.replace(at + whole.size() - name.size(), name.size(), old_name);
    }
  }
  std::ofstream(to / "model.safetensors", std::ios::binary) << bytes;
}

TEST(OpenCheckpoint, ReadsTheNamesThatTensorFlowHasForLayerNorms) {
  const std::filesystem::path golden =
      std::string(reference::kTestsDirectory) + "/golden/encoders/bert-embed";
  const ModelConfig config = proto::LoadModelConfig(golden);
  const Checkpoint expected = OpenCheckpoint(golden, config);
  // All LayerNorms, and those of attention only.
  for (const std::string_view suffix : {"", "attention.output."}) {
    const reference::TempDirectory dir;
    CopyWithTensorFlowNames(golden, dir.path(), suffix);
    EXPECT_NE(Checkpoint::Open(dir.path()).Names(), Checkpoint::Open(golden).Names());
    const Checkpoint found = OpenCheckpoint(dir.path(), config);
    EXPECT_EQ(found.Names(), expected.Names());
    EXPECT_NO_THROW(CheckTensors(found, config));
    for (const std::string& name : expected.Names()) {
      if (name.ends_with("LayerNorm.weight") || name.ends_with("LayerNorm.bias")) {
        EXPECT_EQ(found.Get(name).offset, expected.Get(name).offset) << name;
      }
    }
  }
}

}  // namespace tensors_test
}  // namespace scorecast::shard
