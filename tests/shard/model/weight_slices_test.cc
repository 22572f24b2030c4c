// What is read ahead of a checkpoint is what loading then reads.

#include "shard/model/weight_slices.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/arithmetic.h"
#include "shard/model/layer.h"
#include "shard/model/tensors.h"
#include "shard/runtime/thread_pool.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/temp_directory.h"
#include "tests/shard/linear/dense_rows.h"

namespace scorecast::shard {
namespace weight_slices_test {

using proto::Range;

std::string Bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A checkpoint of one file, with tensors that not every model has.
class WeightSlicesTest : public ::testing::Test {
 protected:
  WeightSlicesTest() {
    config_.attention_bias = true;
    config_.mlp_bias = true;
    for (proto::LayerConfig& layer : config_.layers) {
      layer.qk_norm = true;
    }
    reference::WriteRandomWeights(dir_.path(), {.config = config_});
  }

  std::vector<std::vector<FilePart>> SlicesOf(const Checkpoint& checkpoint, int rank, int ranks,
                                              ColumnReads reads = ColumnReads::kByEachRank) const {
    return WeightSlices(checkpoint, config_, rank, ranks, reads);
  }

  proto::ModelConfig config_ = reference::TinyConfig("llama");
  const reference::TempDirectory dir_;
};

/// Everything that a rank holds of a layer: its vectors, and its weights times a row of ones, which
/// is NaN if a number is.
std::vector<float> Numbers(const Checkpoint& checkpoint, const proto::ModelConfig& config,
                           const proto::Partition& partition, std::int64_t index) {
  const CpuFeatures features = DetectCpuFeatures();
  const Kernels& kernels = KernelsFor(features);
  ThreadPool pool(1);
  TileScratch scratch(1);
  Arithmetic arithmetic(kernels, ChooseArithmetic(Precision::kFloat32, features), 1);
  const Layer layer =
      LoadLayer(checkpoint, config, partition, index,
                {arithmetic.layer_backend(), arithmetic.layers(), pool, scratch, kernels});
  std::vector<float> numbers;
  for (const std::vector<float>* vector :
       {&layer.input_norm.weight, &layer.qkv_bias, &layer.query_norm.weight, &layer.key_norm.weight,
        &layer.output_bias, &layer.post_attention_norm.weight, &layer.pre_feedforward_norm.weight,
        &layer.gate_bias, &layer.up_bias, &layer.down_bias, &layer.post_feedforward_norm.weight}) {
    numbers.insert(numbers.end(), vector->begin(), vector->end());
  }
  const auto add_products = [&](const Linear& linear, std::int64_t in) {
    const testing::DenseRows ones(Precision::kFloat32, kRowGranule, in);
    ones.Set(kernels, 0, std::vector<float>(static_cast<std::size_t>(in), 1.0F));
    const std::size_t begin = numbers.size();
    numbers.resize(begin + static_cast<std::size_t>(linear.out_features()));
    linear.Forward(ones.activations(), 1, pool, [&](const ProductTile& tile) {
      std::copy_n(tile.Row(0), tile.columns.size(),
                  numbers.begin() + static_cast<std::int64_t>(begin) + tile.columns.begin);
    });
  };
  add_products(layer.qkv, config.hidden_size);
  add_products(layer.output, PartOf(Dim::kQueryHeads, config, partition).size());
  add_products(layer.gate_up, config.hidden_size);
  add_products(layer.down, partition.intermediate.size());
  return numbers;
}

// A checkpoint whose other bytes are NaN gives the same layers.
TEST_F(WeightSlicesTest, AreAllThatLayersRead) {
  const Checkpoint checkpoint = Checkpoint::Open(dir_.path());
  const std::string bytes = Bytes(dir_.path() / "model.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const auto data = static_cast<std::int64_t>(sizeof(header) + header);
  for (const int ranks : {1, 3}) {
    for (int rank = 0; rank < ranks; ++rank) {
      SCOPED_TRACE(std::to_string(rank) + " of " + std::to_string(ranks));
      const proto::Partition partition = proto::MakePartition(config_, rank, ranks);
      const auto steps = SlicesOf(checkpoint, rank, ranks);
      ASSERT_EQ(steps.size(), static_cast<std::size_t>(config_.num_hidden_layers() + 1));
      for (std::int64_t index = 0; index < config_.num_hidden_layers(); ++index) {
        std::string poisoned = bytes;
        std::fill(poisoned.begin() + data, poisoned.end(), '\xFF');
        for (const FilePart& part : steps[static_cast<std::size_t>(index)]) {
          std::copy(bytes.begin() + part.bytes.begin, bytes.begin() + part.bytes.end,
                    poisoned.begin() + part.bytes.begin);
        }
        const reference::TempDirectory copy;
        std::ofstream(copy.path() / "model.safetensors", std::ios::binary) << poisoned;
        EXPECT_EQ(Numbers(Checkpoint::Open(copy.path()), config_, partition, index),
                  Numbers(checkpoint, config_, partition, index));
      }
    }
  }
}

/// The bytes of a tensor that some parts hold.
std::vector<Range> Within(const TensorView& tensor, const std::vector<FilePart>& parts) {
  std::vector<Range> within;
  for (const FilePart& part : parts) {
    const Range common = {std::max(part.bytes.begin, tensor.offset),
                          std::min(part.bytes.end, tensor.offset + tensor.bytes)};
    if (common.begin < common.end) {
      within.push_back({common.begin - tensor.offset, common.end - tensor.offset});
    }
  }
  return within;
}

TEST_F(WeightSlicesTest, HaveOnlyTheRanksRows) {
  const Checkpoint checkpoint = Checkpoint::Open(dir_.path());
  for (int rank = 0; rank < 3; ++rank) {
    const proto::Partition partition = proto::MakePartition(config_, rank, 3);
    const auto steps = SlicesOf(checkpoint, rank, 3);
    const std::int64_t row = config_.hidden_size * 4;
    const auto expect = [&](const std::string& name, Range rows,
                            const std::vector<FilePart>& parts) {
      EXPECT_EQ(Within(checkpoint.Get(name), parts),
                (std::vector<Range>{{rows.begin * row, rows.end * row}}))
          << name;
    };
    expect("model.layers.1.self_attn.q_proj.weight", PartOf(Dim::kQueryHeads, config_, partition),
           steps[1]);
    expect("model.layers.1.mlp.up_proj.weight", partition.intermediate, steps[1]);
    expect("lm_head.weight", partition.vocabulary, steps[2]);
    // Rows of embeddings are read when they are needed.
    EXPECT_EQ(Within(checkpoint.Get("model.embed_tokens.weight"), steps[2]), std::vector<Range>());
    EXPECT_EQ(Within(checkpoint.Get("model.norm.weight"), steps[2]),
              (std::vector<Range>{{0, config_.hidden_size * 4}}));
  }
}

// Each rank reads nearly all rows of weights that are split by columns, or each row is read by one.
TEST_F(WeightSlicesTest, RowsWhoseColumnsAreExchangedAreReadOnce) {
  const Checkpoint checkpoint = Checkpoint::Open(dir_.path());
  for (const char* name :
       {"model.layers.1.self_attn.o_proj.weight", "model.layers.1.mlp.down_proj.weight"}) {
    SCOPED_TRACE(name);
    const TensorView& tensor = checkpoint.Get(name);
    std::int64_t end = 0;
    for (int rank = 0; rank < 3; ++rank) {
      const std::vector<Range> whole = Within(tensor, SlicesOf(checkpoint, rank, 3)[1]);
      ASSERT_EQ(whole.size(), 1U);
      EXPECT_GT(whole[0].size(), tensor.bytes - tensor.bytes / tensor.shape[0]);
      const std::vector<Range> rows =
          Within(tensor, SlicesOf(checkpoint, rank, 3, ColumnReads::kExchanged)[1]);
      ASSERT_EQ(rows.size(), 1U);
      EXPECT_EQ(rows[0].begin, end);
      end = rows[0].end;
    }
    EXPECT_EQ(end, tensor.bytes);
  }
  // Of the other tensors, ranks read the same parts either way.
  for (const char* name : {"model.layers.1.mlp.up_proj.weight", "model.norm.weight"}) {
    const TensorView& tensor = checkpoint.Get(name);
    for (const std::size_t step : {1U, 2U}) {
      EXPECT_EQ(Within(tensor, SlicesOf(checkpoint, 1, 3, ColumnReads::kExchanged)[step]),
                Within(tensor, SlicesOf(checkpoint, 1, 3)[step]));
    }
  }
}

TEST_F(WeightSlicesTest, ATiedHeadIsTheEmbeddingUnlessTheCheckpointHasItsOwn) {
  config_.tie_word_embeddings = true;
  const Checkpoint own = Checkpoint::Open(dir_.path());
  EXPECT_NE(Within(own.Get("lm_head.weight"), SlicesOf(own, 0, 1).back()), std::vector<Range>());
  EXPECT_EQ(Within(own.Get("model.embed_tokens.weight"), SlicesOf(own, 0, 1).back()),
            std::vector<Range>());
  const reference::TempDirectory dir;
  reference::WriteRandomWeights(dir.path(), {.config = config_});
  const Checkpoint tied = Checkpoint::Open(dir.path());
  ASSERT_FALSE(tied.Has("lm_head.weight"));
  EXPECT_NE(Within(tied.Get("model.embed_tokens.weight"), SlicesOf(tied, 0, 1).back()),
            std::vector<Range>());
}

TEST_F(WeightSlicesTest, ACheckpointThatDoesNotFit) {
  const Checkpoint checkpoint = Checkpoint::Open(dir_.path());
  config_.vocab_size += 16;
  EXPECT_THROW(SlicesOf(checkpoint, 0, 1), proto::StartupError);
}

}  // namespace weight_slices_test
}  // namespace scorecast::shard
