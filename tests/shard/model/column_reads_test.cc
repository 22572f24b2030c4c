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
  const auto is_exchanged = [](const LoadTimes& times) {
    return FasterReads(times).reads == ColumnReads::kExchanged;
  };
  // Slow disks, which are read while messages are under way.
  EXPECT_TRUE(
      is_exchanged({.by_each_rank = 8, .own_rows = 1, .others = 3, .messages = 8, .packing = 2}));
  // The network is slower than the disks.
  EXPECT_FALSE(
      is_exchanged({.by_each_rank = 8, .own_rows = 1, .others = 3, .messages = 10, .packing = 2}));
  // Packing takes longer than reading, and waits for messages.
  EXPECT_FALSE(
      is_exchanged({.by_each_rank = 2, .own_rows = 1, .others = 1, .messages = 0.1, .packing = 4}));
  EXPECT_TRUE(is_exchanged(
      {.by_each_rank = 2, .own_rows = 0.5, .others = 3, .messages = 0.5, .packing = 4}));
  // Files in the page cache.
  EXPECT_FALSE(is_exchanged(
      {.by_each_rank = 0.1, .own_rows = 0.01, .others = 0.1, .messages = 0.2, .packing = 1}));
  EXPECT_EQ(
      FasterReads({.by_each_rank = 8, .own_rows = 1, .others = 3, .messages = 4, .packing = 2})
          .reason,
      "a host would read its weights in 11.0 s if it read these as a whole, and in 4.0 s in parts; "
      "messages would take 4.0 s, and packing about 2.0 s");
}

}  // namespace column_reads_test
}  // namespace scorecast::shard
