// The slices that a rank reads of a layer, and checkpoints that do not fit their config.json.

#include "shard/model/layer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
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
#include "shard/linear/arithmetic.h"
#include "shard/model/tensors.h"
#include "shard/runtime/thread_pool.h"
#include "tests/reference/checkpoint_reader.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/temp_directory.h"
#include "tests/shard/linear/dense_rows.h"
#include "tests/shard/linear/print_precision.h"

namespace scorecast::shard {
namespace layer_test {

using nlohmann::json;
using proto::ModelConfig;
using proto::Range;
using ::testing::AllOf;
using ::testing::ElementsAre;
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

/// Layers with different options, which no config.json can express.
ModelConfig MixedConfig() {
  ModelConfig config = reference::TinyConfig("llama");
  config.layers = {{.qk_norm = true, .post_feedforward_norm = true},
                   {.post_attention_norm = true},
                   {.qk_norm = true, .post_attention_norm = true, .post_feedforward_norm = true}};
  return config;
}

ModelConfig BiasedConfig() {
  ModelConfig config = reference::TinyConfig("llama");
  config.attention_bias = true;
  config.attention_output_bias = true;
  config.mlp_bias = true;
  return config;
}

/// A model directory of random weights, and its tensors as the oracle's reader reads them.
class Model {
 public:
  explicit Model(ModelConfig config) : config_(std::move(config)) {
    reference::RandomCheckpoint checkpoint;
    checkpoint.config = config_;
    checkpoint.dtype = reference::StoredDtype::kBf16;
    reference::WriteRandomWeights(dir_.path(), checkpoint);
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

using Matrix = std::vector<std::vector<float>>;

/// Packs layers, and finds the weights that were packed.
class Packer {
 public:
  explicit Packer(Precision precision, CpuFeatures features = DetectCpuFeatures())
      : kernels_(KernelsFor(features)),
        arithmetic_(kernels_, ChooseArithmetic(precision, features), pool_.threads()) {}

  Precision precision() const { return arithmetic_.layers(); }
  Packing packing() {
    return {arithmetic_.layer_backend(), arithmetic_.layers(), pool_, scratch_, kernels_};
  }

  /// Recovers a weight [out, in] as [out][in] by multiplying it with unit vectors, which every
  /// precision represents exactly, apart from a scale.
  Matrix WeightOf(const Linear& linear, std::int64_t in) {
    const auto width = static_cast<std::size_t>(in);
    const testing::DenseRows units(precision(), RoundUpRows(in), in);
    for (std::int64_t i = 0; i < in; ++i) {
      std::vector<float> unit(width, 0.0F);
      unit[static_cast<std::size_t>(i)] = 1;
      units.Set(kernels_, i, unit);
    }
    Matrix weight(static_cast<std::size_t>(linear.out_features()), std::vector<float>(width));
    linear.Forward(units.activations(), in, pool_, [&](const ProductTile& tile) {
      for (std::int64_t i = tile.first_row; i < tile.first_row + tile.rows; ++i) {
        for (std::int64_t o = tile.columns.begin; o < tile.columns.end; ++o) {
          weight[static_cast<std::size_t>(o)][static_cast<std::size_t>(i)] =
              tile.Row(i)[o - tile.columns.begin];
        }
      }
    });
    return weight;
  }

  ThreadPool& pool() { return pool_; }

 private:
  const Kernels& kernels_;
  ThreadPool pool_{2};
  TileScratch scratch_{2};
  Arithmetic arithmetic_;
};

double Norm(const std::vector<float>& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

/// The checkpoint is bfloat16, so float32 and bfloat16 have exactly its numbers. int8 rounds a
/// rotated row in steps of its largest element / 127, which is at most the row's norm / 127. Each
/// element is off by half a step at most, and the rotation back keeps norms. Float32's own
/// roundings are far below a hundredth of that.
void ExpectWeight(Precision precision, const Matrix& found, const Matrix& expected) {
  if (precision != Precision::kInt8) {
    EXPECT_EQ(found, expected);
    return;
  }
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t o = 0; o < found.size(); ++o) {
    ASSERT_EQ(found[o].size(), expected[o].size());
    std::vector<float> difference = found[o];
    std::ranges::transform(difference, expected[o], difference.begin(), std::minus<>());
    const double steps = std::sqrt(static_cast<double>(difference.size())) / 254;
    EXPECT_LE(Norm(difference), Norm(expected[o]) * steps * 1.01) << "output " << o;
  }
}

/// In int8, the weight with the norm's `factors` folded into its columns. Else the weight itself.
Matrix Folded(Matrix weight, Precision precision, const std::vector<float>& factors) {
  if (precision == Precision::kInt8) {
    for (std::vector<float>& row : weight) {
      std::ranges::transform(row, factors, row.begin(), std::multiplies<>());
    }
  }
  return weight;
}

/// Appends rows and columns of a tensor [rows, columns] to `block`.
void AppendBlock(const reference::Tensor& tensor, Range rows, Range columns, Matrix& block) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const auto begin = tensor.values.begin() + row * tensor.shape[1];
    block.emplace_back(begin + columns.begin, begin + columns.end);
  }
}

std::vector<float> Part(const reference::Tensor& tensor, Range range) {
  return {tensor.values.begin() + range.begin, tensor.values.begin() + range.end};
}

/// The rows of Layer::gate_up: for each block of each chunk, those of gate and then those of up.
Matrix GateUp(const reference::Tensor& gate, const reference::Tensor& up, Range rows, Range all) {
  Matrix gate_up;
  std::int64_t begin = rows.begin;
  for (const std::int64_t width : Chunks(rows.size(), kChunkOutputs / 2)) {
    for (const std::int64_t end = begin + width; begin < end;) {
      const Range part = {begin, std::min(begin + kGateBlock, end)};
      AppendBlock(gate, part, all, gate_up);
      AppendBlock(up, part, all, gate_up);
      begin = part.end;
    }
  }
  return gate_up;
}

/// Expects that the first query_chunks chunks are the queries, and that no chunk cuts a head in
/// two.
void ExpectWholeHeads(const Layer& layer, const ModelConfig& config, Range q, Packer& packer) {
  const std::int64_t head_dim = config.head_dim;
  const testing::DenseRows x(packer.precision(), kRowGranule, config.hidden_size);
  layer.qkv.Forward(x.activations(), 1, packer.pool(), [&](const ProductTile& tile) {
    EXPECT_EQ(tile.columns.begin % head_dim, 0);
    EXPECT_EQ(tile.columns.size() % head_dim, 0);
  });
  std::atomic<std::int64_t> queries = 0;
  layer.qkv.Forward(x.activations(), 1, {0, layer.query_chunks}, packer.pool(),
                    [&](const ProductTile& tile) { queries += tile.columns.size(); });
  EXPECT_EQ(queries, q.size());
}

void ExpectSlices(const Model& model, int rank, int ranks, Packer& packer) {
  const ModelConfig& config = model.config();
  const proto::Partition partition = proto::MakePartition(config, rank, ranks);
  const std::int64_t hidden = config.hidden_size;
  const Range all = {0, hidden};
  const Range q = {partition.heads.begin * config.head_dim, partition.heads.end * config.head_dim};
  const Range kv = {partition.kv_heads.begin * config.head_dim,
                    partition.kv_heads.end * config.head_dim};
  const Range i = partition.intermediate;
  const Checkpoint checkpoint = model.Open();
  const Precision precision = packer.precision();
  const auto tensors = model.Tensors();
  for (std::int64_t index = 0; index < config.num_hidden_layers(); ++index) {
    const Layer layer = LoadLayer(checkpoint, config, partition, index, packer.packing());
    const auto tensor = [&](const std::string& name) {
      return tensors.at("model.layers." + std::to_string(index) + "." + name);
    };
    const std::vector<float> input_norm = Part(tensor("input_layernorm.weight"), all);
    const proto::LayerConfig& options = config.layers[static_cast<std::size_t>(index)];
    const std::vector<float> pre_feedforward_norm =
        Part(tensor(options.post_attention_norm ? "pre_feedforward_layernorm.weight"
                                                : "post_attention_layernorm.weight"),
             all);
    Matrix qkv;
    AppendBlock(tensor("self_attn.q_proj.weight"), q, all, qkv);
    AppendBlock(tensor("self_attn.k_proj.weight"), kv, all, qkv);
    AppendBlock(tensor("self_attn.v_proj.weight"), kv, all, qkv);
    ExpectWeight(precision, packer.WeightOf(layer.qkv, hidden), Folded(qkv, precision, input_norm));
    ExpectWholeHeads(layer, config, q, packer);
    Matrix output;
    AppendBlock(tensor("self_attn.o_proj.weight"), all, q, output);
    ExpectWeight(precision, packer.WeightOf(layer.output, q.size()), output);
    const Matrix gate_up =
        GateUp(tensor("mlp.gate_proj.weight"), tensor("mlp.up_proj.weight"), i, all);
    ExpectWeight(precision, packer.WeightOf(layer.gate_up, hidden),
                 Folded(gate_up, precision, pre_feedforward_norm));
    Matrix down;
    AppendBlock(tensor("mlp.down_proj.weight"), all, i, down);
    ExpectWeight(precision, packer.WeightOf(layer.down, i.size()), down);

    const std::vector<float> ones(input_norm.size(), 1.0F);
    const bool is_folded = precision == Precision::kInt8;
    EXPECT_EQ(layer.input_norm.weight, is_folded ? ones : input_norm);
    EXPECT_EQ(layer.pre_feedforward_norm.weight, is_folded ? ones : pre_feedforward_norm);
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
    expect_parts(layer.gate_bias, config.mlp_bias, {{"mlp.gate_proj.bias", i}});
    expect_parts(layer.up_bias, config.mlp_bias, {{"mlp.up_proj.bias", i}});
    expect_parts(layer.down_bias, config.mlp_bias, {{"mlp.down_proj.bias", all}});
    expect_parts(layer.query_norm.weight, options.qk_norm,
                 {{"self_attn.q_norm.weight", {0, config.head_dim}}});
    expect_parts(layer.key_norm.weight, options.qk_norm,
                 {{"self_attn.k_norm.weight", {0, config.head_dim}}});
    expect_parts(layer.post_attention_norm.weight, options.post_attention_norm,
                 {{"post_attention_layernorm.weight", all}});
    expect_parts(layer.post_feedforward_norm.weight, options.post_feedforward_norm,
                 {{"post_feedforward_layernorm.weight", all}});
  }
}

class LoadLayerTest : public ::testing::TestWithParam<Precision> {};

TEST_P(LoadLayerTest, ReadsTheRanksSlices) {
  ModelConfig narrow = reference::TinyConfig("llama");
  narrow.intermediate_size = 40;      // Three grains, so three of six ranks own nothing.
  ModelConfig wide = BiasedConfig();  // Every weight has several chunks.
  wide.layers.resize(1);
  wide.hidden_size = 272;
  wide.head_dim = 96;
  wide.intermediate_size = 300;
  for (const ModelConfig& config :
       {BiasedConfig(), reference::TinyConfig("qwen3"), MixedConfig(), narrow, wide}) {
    const Model model(config);
    Packer packer(GetParam());
    for (int ranks = 1; ranks <= config.num_attention_heads; ++ranks) {
      for (int rank = 0; rank < ranks; ++rank) {
        SCOPED_TRACE(config.model_type + " of " + std::to_string(config.intermediate_size) +
                     ", rank " + std::to_string(rank) + " of " + std::to_string(ranks));
        ExpectSlices(model, rank, ranks, packer);
      }
    }
  }
}

/// A bfloat16 tensor as float32, with numbers that bfloat16 does not have.
StoredTensor Wider(const StoredTensor& tensor) {
  StoredTensor wider = {"F32", tensor.shape, {}};
  for (std::size_t i = 0; i < tensor.bytes.size(); i += 2) {
    wider.bytes += "\x34\x12" + tensor.bytes.substr(i, 2);
  }
  return wider;
}

// The parts of one product may have different types in the checkpoint: no number is rounded, also
// not on a CPU on which weights keep the checkpoint's type.
TEST(LoadLayer, TensorsOfSeveralTypesAreHeldExactly) {
  for (const char* wide : {"self_attn.q_proj", "self_attn.v_proj", "self_attn.o_proj",
                           "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    const Model model(BiasedConfig());
    model.Edit([&](StoredTensors& tensors) {
      StoredTensor& tensor = tensors.at("model.layers.1." + std::string(wide) + ".weight");
      tensor = Wider(tensor);
    });
    for (const CpuFeatures features : {CpuFeatures{CpuFeature::kAvx2}, CpuFeatures()}) {
      Packer packer(Precision::kFloat32, features & DetectCpuFeatures());
      for (int rank = 0; rank < 3; ++rank) {
        SCOPED_TRACE(std::string(wide) + ", rank " + std::to_string(rank));
        ExpectSlices(model, rank, 3, packer);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LoadLayerTest,
                         ::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                           Precision::kInt8),
                         [](const auto& param) { return std::string(Name(param.param)); });

TEST(Chunks, HaveOneWidthExceptTheRemainder) {
  EXPECT_THAT(Chunks(0, 256), ElementsAre());
  EXPECT_THAT(Chunks(255, 256), ElementsAre(255));
  EXPECT_THAT(Chunks(256, 256), ElementsAre(256));
  EXPECT_THAT(Chunks(528, 256), ElementsAre(256, 256, 16));
  EXPECT_THAT(Chunks(527, 256), ElementsAre(256, 271))
      << "the remainder is too narrow for a chunk of its own";
  EXPECT_THAT(Chunks(15, 256), ElementsAre(15));
}

/// The message with which start-up refuses a checkpoint; empty if it accepts it.
std::string Fault(const Model& model) {
  Packer packer(Precision::kFloat32);
  try {
    const Checkpoint checkpoint = model.Open();
    CheckTensors(checkpoint, model.config());
    for (std::int64_t index = 0; index < model.config().num_hidden_layers(); ++index) {
      LoadLayer(checkpoint, model.config(), proto::MakePartition(model.config(), 0, 2), index,
                packer.packing());
    }
  } catch (const proto::StartupError& fault) {
    return fault.what();
  }
  return {};
}

TEST(LoadLayer, WholeCheckpointIsAccepted) {
  EXPECT_EQ(Fault(Model(BiasedConfig())), "");
  EXPECT_EQ(Fault(Model(reference::TinyConfig("qwen3"))), "");
  EXPECT_EQ(Fault(Model(MixedConfig())), "");
}

TEST(LoadLayer, EveryTensorOfALayerIsNeeded) {
  for (const ModelConfig& config :
       {BiasedConfig(), reference::TinyConfig("qwen3"), MixedConfig()}) {
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

TEST(LoadLayer, EveryShapeOfALayerMustFollowFromTheConfig) {
  for (const ModelConfig& config :
       {BiasedConfig(), reference::TinyConfig("qwen3"), MixedConfig()}) {
    const Model complete(config);
    for (const auto& [name, whole] : complete.Tensors()) {
      if (!name.starts_with("model.layers.0.")) {
        continue;
      }
      const Model model(config);
      // The same number of elements in another shape: transposed, or with a dimension of one.
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

TEST(CheckTensors, NamesAnUnknownTensor) {
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

TEST(CheckTensors, NameOfSeveralLinesIsShownInOne) {
  const Model model(reference::TinyConfig("llama"));
  model.Edit([&](StoredTensors& tensors) {
    tensors["extra\nrank 0: all is well"] = {"BF16", {2}, std::string(4, '\0')};
  });
  EXPECT_THAT(Fault(model), AllOf(HasSubstr("extra"), Not(HasSubstr("\n"))));
}

// transformers accepts them too.
TEST(CheckTensors, AcceptsTensorsThatFollowFromOthers) {
  ModelConfig config = reference::TinyConfig("llama");
  config.tie_word_embeddings = true;
  const Model model(config);
  model.Edit([&](StoredTensors& tensors) {
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"];
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {"F32", {4}, std::string(16, '\0')};
  });
  EXPECT_EQ(Fault(model), "");
  model.Edit([](StoredTensors& tensors) { tensors["lm_head.weight"].shape.push_back(1); });
  EXPECT_THAT(Fault(model), AllOf(HasSubstr("lm_head.weight"), HasSubstr("shape")));
}

}  // namespace layer_test
}  // namespace scorecast::shard
