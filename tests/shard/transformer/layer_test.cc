// What a rank reads of a layer, and checkpoints that do not fit their config.json.

#include "shard/transformer/layer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/linear/openblas_backend.h"
#include "shard/runtime/thread_pool.h"
#include "tests/reference/checkpoint_reader.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::shard {
namespace {

using nlohmann::json;
using proto::ModelConfig;
using proto::Range;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct StoredTensor {
  json dtype;
  json shape;
  std::string bytes;
};
using StoredTensors = std::map<std::string, StoredTensor>;

StoredTensors ReadTensors(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof(size));
  const json header = json::parse(bytes.substr(8, size));
  StoredTensors tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      const std::size_t begin = entry["data_offsets"][0];
      const std::size_t end = entry["data_offsets"][1];
      tensors[name] = {entry["dtype"], entry["shape"], bytes.substr(8 + size + begin, end - begin)};
    }
  }
  return tensors;
}

void WriteTensors(const StoredTensors& tensors, const std::filesystem::path& path) {
  json header = json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  const std::string text = header.dump();
  const std::uint64_t size = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&size), sizeof(size));
  file << text << data;
}

ModelConfig BiasedConfig() {
  ModelConfig config = reference::TinyConfig("llama");
  config.attention_bias = true;
  config.attention_output_bias = true;
  config.mlp_bias = true;
  return config;
}

/// A model directory of random weights, and what is in it by the oracle's reader.
class Model {
 public:
  explicit Model(ModelConfig config) : config_(std::move(config)) {
    reference::RandomCheckpoint checkpoint;
    checkpoint.config = config_;
    checkpoint.dtype = reference::StoredDtype::kBf16;
    reference::WriteRandomCheckpoint(dir_.path(), checkpoint);
  }

  void Edit(const std::function<void(StoredTensors&)>& edit) const {
    const std::filesystem::path path = dir_.path() / "model.safetensors";
    StoredTensors tensors = ReadTensors(path);
    edit(tensors);
    WriteTensors(tensors, path);
  }

  const ModelConfig& config() const { return config_; }
  Checkpoint Open() const { return Checkpoint::Open(dir_.path()); }
  std::map<std::string, reference::Tensor> Tensors() const {
    return reference::ReadCheckpoint(dir_.path());
  }

 private:
  ModelConfig config_;
  reference::TempDirectory dir_;
};

/// The weight of a layer, found by multiplying unit vectors: [out][in].
std::vector<std::vector<float>> WeightOf(const Linear& linear) {
  const std::int64_t in = linear.in_features();
  const std::int64_t out = linear.out_features();
  std::vector<float> x(static_cast<std::size_t>(RoundUpRows(in) * in));
  std::vector<float> y(static_cast<std::size_t>(RoundUpRows(in) * out));
  for (std::int64_t i = 0; i < in; ++i) {
    x[static_cast<std::size_t>(i * in + i)] = 1;
  }
  ThreadPool pool(1);
  linear.Forward({x.data(), in}, in, {y.data(), out}, pool);
  std::vector<std::vector<float>> weight(static_cast<std::size_t>(out));
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      weight[static_cast<std::size_t>(o)].push_back(y[static_cast<std::size_t>(i * out + o)]);
    }
  }
  return weight;
}

/// Rows and columns of a tensor [rows, columns], appended below `block`.
void AppendBlock(const reference::Tensor& tensor, Range rows, Range columns,
                 std::vector<std::vector<float>>& block) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const auto begin = tensor.values.begin() + row * tensor.shape[1];
    block.emplace_back(begin + columns.begin, begin + columns.end);
  }
}

std::vector<float> Part(const reference::Tensor& tensor, Range range) {
  return {tensor.values.begin() + range.begin, tensor.values.begin() + range.end};
}

void ExpectSlices(const Model& model, int rank, int ranks) {
  const ModelConfig& config = model.config();
  const proto::Partition partition = proto::MakePartition(config, rank, ranks);
  const std::int64_t hidden = config.hidden_size;
  const Range all = {0, hidden};
  const Range q = {partition.heads.begin * config.head_dim, partition.heads.end * config.head_dim};
  const Range kv = {partition.kv_heads.begin * config.head_dim,
                    partition.kv_heads.end * config.head_dim};
  const Range i = partition.intermediate;
  const Checkpoint checkpoint = model.Open();
  OpenBlasBackend backend;
  const auto tensors = model.Tensors();
  for (std::int64_t index = 0; index < config.num_hidden_layers; ++index) {
    const Layer layer = LoadLayer(checkpoint, config, partition, index, backend);
    const auto tensor = [&](const std::string& name) {
      return tensors.at("model.layers." + std::to_string(index) + "." + name);
    };
    std::vector<std::vector<float>> qkv;
    AppendBlock(tensor("self_attn.q_proj.weight"), q, all, qkv);
    AppendBlock(tensor("self_attn.k_proj.weight"), kv, all, qkv);
    AppendBlock(tensor("self_attn.v_proj.weight"), kv, all, qkv);
    EXPECT_EQ(WeightOf(layer.qkv), qkv);
    std::vector<std::vector<float>> output;
    AppendBlock(tensor("self_attn.o_proj.weight"), all, q, output);
    EXPECT_EQ(WeightOf(layer.output), output);
    std::vector<std::vector<float>> gate_up;
    AppendBlock(tensor("mlp.gate_proj.weight"), i, all, gate_up);
    AppendBlock(tensor("mlp.up_proj.weight"), i, all, gate_up);
    EXPECT_EQ(WeightOf(layer.gate_up), gate_up);
    std::vector<std::vector<float>> down;
    AppendBlock(tensor("mlp.down_proj.weight"), all, i, down);
    EXPECT_EQ(WeightOf(layer.down), down);

    EXPECT_EQ(layer.input_norm, Part(tensor("input_layernorm.weight"), all));
    EXPECT_EQ(layer.post_attention_norm, Part(tensor("post_attention_layernorm.weight"), all));
    const auto expect_parts = [&](const std::vector<float>& found, bool is_there,
                                  const std::vector<std::pair<std::string, Range>>& parts) {
      std::vector<float> expected;
      for (const auto& [name, range] : parts) {
        if (is_there) {
          const std::vector<float> part = Part(tensor(name), range);
          expected.insert(expected.end(), part.begin(), part.end());
        }
      }
      EXPECT_EQ(found, expected) << parts.front().first;
    };
    expect_parts(layer.qkv_bias, config.attention_bias,
                 {{"self_attn.q_proj.bias", q},
                  {"self_attn.k_proj.bias", kv},
                  {"self_attn.v_proj.bias", kv}});
    expect_parts(layer.output_bias, config.attention_output_bias, {{"self_attn.o_proj.bias", all}});
    expect_parts(layer.gate_up_bias, config.mlp_bias,
                 {{"mlp.gate_proj.bias", i}, {"mlp.up_proj.bias", i}});
    expect_parts(layer.down_bias, config.mlp_bias, {{"mlp.down_proj.bias", all}});
    expect_parts(layer.query_norm, config.qk_norm,
                 {{"self_attn.q_norm.weight", {0, config.head_dim}}});
    expect_parts(layer.key_norm, config.qk_norm,
                 {{"self_attn.k_norm.weight", {0, config.head_dim}}});
  }
}

TEST(LoadLayer, ReadsTheRanksSlices) {
  ModelConfig narrow = reference::TinyConfig("llama");
  narrow.intermediate_size = 40;  // Three grains: of six ranks three own nothing.
  for (const ModelConfig& config : {BiasedConfig(), reference::TinyConfig("qwen3"), narrow}) {
    const Model model(config);
    for (int ranks = 1; ranks <= config.num_attention_heads; ++ranks) {
      for (int rank = 0; rank < ranks; ++rank) {
        SCOPED_TRACE(config.model_type + ", rank " + std::to_string(rank) + " of " +
                     std::to_string(ranks));
        ExpectSlices(model, rank, ranks);
      }
    }
  }
}

/// What start-up says of a checkpoint; empty where it takes it.
std::string Fault(const Model& model) {
  OpenBlasBackend backend;
  try {
    const Checkpoint checkpoint = model.Open();
    RefuseUnknownTensors(checkpoint, model.config());
    for (std::int64_t index = 0; index < model.config().num_hidden_layers; ++index) {
      LoadLayer(checkpoint, model.config(), proto::MakePartition(model.config(), 0, 2), index,
                backend);
    }
  } catch (const proto::StartupError& fault) {
    return fault.what();
  }
  return {};
}

TEST(LoadLayer, WholeCheckpointIsTaken) {
  EXPECT_EQ(Fault(Model(BiasedConfig())), "");
  EXPECT_EQ(Fault(Model(reference::TinyConfig("qwen3"))), "");
}

TEST(LoadLayer, EveryTensorOfALayerIsNeeded) {
  for (const ModelConfig& config : {BiasedConfig(), reference::TinyConfig("qwen3")}) {
    const Model complete(config);
    for (const auto& [name, tensor] : complete.Tensors()) {
      if (!name.starts_with("model.layers.1.")) {
        continue;
      }
      const Model model(config);
      model.Edit([&](StoredTensors& tensors) { tensors.erase(name); });
      EXPECT_THAT(Fault(model),
                  AllOf(HasSubstr(name), HasSubstr("is missing"), Not(HasSubstr("\n"))));
    }
  }
}

TEST(LoadLayer, EveryShapeOfALayerIsHeldToTheConfig) {
  for (const ModelConfig& config : {BiasedConfig(), reference::TinyConfig("qwen3")}) {
    const Model complete(config);
    for (const auto& [name, whole] : complete.Tensors()) {
      if (!name.starts_with("model.layers.0.")) {
        continue;
      }
      const Model model(config);
      // Of as many elements, but another shape: transposed, or with a dimension of one.
      model.Edit([&](StoredTensors& tensors) {
        json& shape = tensors[name].shape;
        if (shape.size() == 2 && shape[0] != shape[1]) {
          std::swap(shape[0], shape[1]);
        } else {
          shape.push_back(1);
        }
      });
      EXPECT_THAT(Fault(model), AllOf(HasSubstr(name), HasSubstr("shape"), Not(HasSubstr("\n"))));
    }
  }
}

TEST(RefuseUnknownTensors, NamesTheTensor) {
  for (const std::string name :
       {"model.layers.0.self_attn.q_proj.bias", "model.layers.1.mlp.down_proj.bias",
        "model.layers.0.self_attn.q_norm.weight", "model.layers.0.mlp.experts.0.up_proj.weight",
        "model.layers.2.input_layernorm.weight", "lm_head.bias", "score.weight",
        "model.layers.0.self_attn.o_proj.bias"}) {
    const Model model(reference::TinyConfig("llama"));
    model.Edit([&](StoredTensors& tensors) {
      tensors[name] = {"BF16", {2}, std::string(4, '\0')};
    });
    EXPECT_THAT(Fault(model),
                AllOf(HasSubstr(name), HasSubstr("config.json"), Not(HasSubstr("\n"))));
  }
}

TEST(RefuseUnknownTensors, NameOfSeveralLinesIsToldInOne) {
  const Model model(reference::TinyConfig("llama"));
  model.Edit([&](StoredTensors& tensors) {
    tensors["extra\nrank 0: all is well"] = {"BF16", {2}, std::string(4, '\0')};
  });
  EXPECT_THAT(Fault(model), AllOf(HasSubstr("extra"), Not(HasSubstr("\n"))));
}

// What transformers leaves aside too.
TEST(RefuseUnknownTensors, TakesWhatFollowsFromTheRest) {
  ModelConfig config = reference::TinyConfig("llama");
  config.tie_word_embeddings = true;
  const Model model(config);
  model.Edit([&](StoredTensors& tensors) {
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"];
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {"F32", {4}, std::string(16, '\0')};
  });
  EXPECT_EQ(Fault(model), "");
}

}  // namespace
}  // namespace scorecast::shard
