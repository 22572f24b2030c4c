// Which weights are exchanged, and when.

#include "shard/model/column_reads.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/checkpoint/read_ahead.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::shard {
namespace column_reads_test {

std::vector<const TensorView*> SplitTensors(const Checkpoint& checkpoint,
                                            const proto::ModelConfig& config, int ranks) {
  std::vector<const TensorView*> tensors;
  for (const ColumnSplit& split : ColumnSplits(checkpoint, config, 0, ranks)) {
    EXPECT_EQ(split.columns.size(), static_cast<std::size_t>(ranks));
    EXPECT_EQ(split.columns.front().begin, 0);
    EXPECT_EQ(split.columns.back().end, split.tensor->shape[1]);
    tensors.push_back(split.tensor);
  }
  return tensors;
}

// Rows of down are wide enough that two ranks skip each other's columns; with one rank there is
// nothing to skip.
TEST(ColumnSplits, AreTheWeightsThatRanksWouldReadAsAWhole) {
  reference::RandomCheckpoint random;
  random.config = reference::TinyConfig("llama");
  random.config.layers.resize(1);
  random.dtype = reference::StoredDtype::kBf16;
  const auto expect_down = [&](std::int64_t intermediate_size, bool is_split) {
    random.config.intermediate_size = intermediate_size;
    const reference::TempDirectory dir;
    reference::WriteRandomWeights(dir.path(), random);
    const Checkpoint checkpoint = Checkpoint::Open(dir.path());
    std::vector<const TensorView*> expected = {
        &checkpoint.Get("model.layers.0.self_attn.o_proj.weight")};
    if (is_split) {
      expected.push_back(&checkpoint.Get("model.layers.0.mlp.down_proj.weight"));
    }
    EXPECT_EQ(SplitTensors(checkpoint, random.config, 2), expected);
    EXPECT_EQ(SplitTensors(checkpoint, random.config, 1), std::vector<const TensorView*>());
  };
  // The other rank's columns take kMergedGap bytes, or less.
  expect_down(kMergedGap, false);
  expect_down(kMergedGap - 32, true);
}

TEST(FasterReads, AreThoseThatTakeLessTime) {
  // Eight hosts with slow disks, the same with a slower network, and files in the page cache.
  EXPECT_EQ(FasterReads({.by_each_rank = 8, .own_rows = 1, .messages = 3}).reads,
            ColumnReads::kExchanged);
  EXPECT_EQ(FasterReads({.by_each_rank = 8, .own_rows = 1, .messages = 7.5}).reads,
            ColumnReads::kByEachRank);
  EXPECT_EQ(FasterReads({.by_each_rank = 0.1, .own_rows = 0.01, .messages = 0.2}).reads,
            ColumnReads::kByEachRank);
  EXPECT_EQ(FasterReads({.by_each_rank = 8, .own_rows = 1, .messages = 3}).reason,
            "8.0 s as a whole on every host, 1.0 s in parts and 3.0 s for their messages");
}

}  // namespace column_reads_test
}  // namespace scorecast::shard
