#include "shard/model/workspace.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/runtime/thread_pool.h"
#include "tests/shard/linear/print_precision.h"
#include "tests/shard/resident_pages.h"

namespace scorecast::shard {
namespace workspace_test {

constexpr proto::PlanLimits kLimits = {.max_rows = 37, .max_reads = 5};
// Whole granules.
constexpr std::int64_t kRows = 48;
constexpr std::int64_t kRowsRead = 16;
constexpr int kThreads = 3;

proto::ModelConfig SmallConfig() {
  proto::ModelConfig config;
  config.hidden_size = 50;
  config.num_attention_heads = 3;
  config.num_key_value_heads = 1;
  config.head_dim = 10;
  config.intermediate_size = 70;
  config.vocab_size = 100;
  return config;
}

struct Part {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

class WorkspaceTest : public ::testing::TestWithParam<Precision> {
 protected:
  static Part PartOf(Rows<float> rows, std::int64_t count) {
    return {reinterpret_cast<std::byte*>(rows.data), 4 * count * rows.stride};
  }
  static void Append(const Activations& rows, std::int64_t count, std::vector<Part>& parts) {
    parts.push_back({rows.data, count * rows.row_bytes()});
    if (rows.precision == Precision::kInt8) {
      parts.push_back({reinterpret_cast<std::byte*>(rows.scales), count * 4});
    }
  }

  const Precision precision_ = GetParam();
  const proto::ModelConfig config_ = SmallConfig();
  const proto::Partition partition_ = proto::MakePartition(config_, 0, 2);
  const std::int64_t q_ = partition_.heads.size() * config_.head_dim;
  const std::int64_t i_ = partition_.intermediate.size();
};

// Each part is as large as its shape says, begins at a cache line, is zero and overlaps no other.
TEST_P(WorkspaceTest, PartsLieApart) {
  const Workspace work(config_, partition_, kLimits, precision_, kThreads);
  EXPECT_EQ(work.hidden.stride, config_.hidden_size);
  EXPECT_EQ(work.queries.stride, q_);
  EXPECT_EQ(work.attended.stride, q_);
  EXPECT_EQ(work.thread_row.stride, config_.hidden_size);
  EXPECT_EQ(work.selected.width, config_.hidden_size);
  EXPECT_EQ(work.output_input.width(), q_);
  EXPECT_EQ(work.down_input.width(), i_);
  std::vector<Part> parts = {PartOf(work.hidden, kRows), PartOf(work.queries, kRows),
                             PartOf(work.attended, kRows), PartOf(work.thread_row, kThreads)};
  if (precision_ == Precision::kInt8) {
    EXPECT_EQ(work.activated.stride, i_);
    parts.push_back(PartOf(work.activated, kRows));
  }
  const Activations output_input = work.output_input.Block(0);
  const Activations down_input = work.down_input.Block(0);
  for (const Activations& rows : {work.selected, output_input, down_input}) {
    EXPECT_EQ(rows.precision, precision_);
  }
  Append(work.selected, kRowsRead, parts);
  if (precision_ != Precision::kFloat32) {
    Append(output_input, kRows, parts);
  }
  Append(down_input, kRows, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parts[i].data) % 64, 0U) << "part " << i;
    EXPECT_TRUE(std::all_of(parts[i].data, parts[i].data + parts[i].bytes,
                            [](std::byte b) { return b == std::byte{0}; }))
        << "part " << i << " overlaps an earlier one";
    std::memset(parts[i].data, static_cast<int>(i) + 1, static_cast<std::size_t>(parts[i].bytes));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_TRUE(std::all_of(parts[i].data, parts[i].data + parts[i].bytes,
                            [&](std::byte b) { return b == static_cast<std::byte>(i + 1); }))
        << "part " << i;
  }
}

TEST_P(WorkspaceTest, Float32InputsAreTheRowsThemselvesUnlessTheyHaveBlocks) {
  for (const auto sharding : {proto::Sharding::kEven, proto::Sharding::kInBlocks}) {
    const proto::Partition partition = proto::MakePartition(config_, 0, 2, sharding);
    const Workspace work(config_, partition, kLimits, precision_, kThreads);
    const bool is_in_place =
        precision_ == Precision::kFloat32 && sharding == proto::Sharding::kEven;
    EXPECT_EQ(work.output_input.data == reinterpret_cast<std::byte*>(work.attended.data),
              is_in_place);
    EXPECT_EQ(work.output_input.blocks(), partition.head_blocks.size());
    EXPECT_EQ(work.down_input.blocks(), partition.intermediate_blocks.size());
  }
}

TEST_P(WorkspaceTest, BytesAreThoseOfItsShapes) {
  const auto lines = [](std::int64_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::int64_t h = config_.hidden_size;
  const std::int64_t size = ElementSize(precision_);
  std::int64_t bytes = lines(4 * kRows * h) + 2 * lines(4 * kRows * q_) +
                       lines(size * kRowsRead * h) + lines(4 * h);  // One thread's row.
  bytes += lines(size * kRows * i_);
  if (precision_ != Precision::kFloat32) {
    bytes += lines(size * kRows * q_);
  }
  if (precision_ == Precision::kInt8) {
    bytes += lines(4 * kRows * i_) + 2 * lines(4 * kRows) + lines(4 * kRowsRead);
  }
  EXPECT_EQ(Workspace::Bytes(config_, partition_, kLimits, precision_), bytes);
}

// The parts of fewer rows, and of fewer rows read, lie closer together, in the first bytes of the
// same allocation.
TEST_P(WorkspaceTest, ABucketIsLaidOutFromTheBeginning) {
  proto::PlanLimits limits = {.max_rows = 1000, .max_reads = 1200};
  Workspace work(config_, partition_, limits, precision_, /*threads=*/1);
  const std::byte* begin = reinterpret_cast<std::byte*>(work.hidden.data);
  const auto lines = [](std::int64_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::int64_t h = config_.hidden_size;
  for (const std::int32_t rows : {32, 1000, 64, 512, 37}) {
    for (const std::int32_t reads : {32, 1200, 17}) {
      limits.max_rows = rows;
      limits.max_reads = reads;
      work.LayOut(limits);
      EXPECT_EQ(reinterpret_cast<std::byte*>(work.hidden.data), begin);
      EXPECT_EQ(work.selected.data - begin, lines(4 * RoundUpRows(rows) * h));
      const std::int64_t rows_read = RoundUpRows(std::min(rows, reads));
      const std::int64_t scales = precision_ == Precision::kInt8 ? lines(4 * rows_read) : 0;
      EXPECT_EQ(reinterpret_cast<std::byte*>(work.queries.data) - work.selected.data,
                lines(rows_read * work.selected.row_bytes()) + scales);
      // One thread's row is the last part.
      const std::byte* end = reinterpret_cast<std::byte*>(work.thread_row[1]);
      const std::int64_t bytes = Workspace::Bytes(config_, partition_, limits, precision_);
      EXPECT_EQ(lines(end - begin), bytes);
      EXPECT_LE(work.down_input.data + RoundUpRows(rows) * i_ * ElementSize(precision_), end);
    }
  }
}

TEST_P(WorkspaceTest, TouchesTheBytesThatABucketUses) {
  testing::DisableHugePages();
  ThreadPool pool(2);
  proto::PlanLimits limits = {.max_rows = 5000, .max_reads = 5};
  Workspace work(config_, partition_, limits, precision_, /*threads=*/1);
  const auto* begin = reinterpret_cast<std::byte*>(work.hidden.data);
  const auto all =
      static_cast<std::size_t>(Workspace::Bytes(config_, partition_, limits, precision_));
  limits.max_rows = 1024;
  work.Touch(limits, pool);
  const auto touched =
      static_cast<std::size_t>(Workspace::Bytes(config_, partition_, limits, precision_));
  const testing::PageCount of_bucket = testing::CountPages({begin, touched});
  EXPECT_EQ(of_bucket.resident, of_bucket.all);
  EXPECT_EQ(testing::CountPages({begin, all}).resident, of_bucket.all)
      << "no other page is touched";
}

TEST_P(WorkspaceTest, MoreRowsThanItsLimitsAreABrokenInvariant) {
  Workspace work(config_, partition_, kLimits, precision_, kThreads);
  proto::PlanLimits more_rows = kLimits;
  more_rows.max_rows = kRows + 1;
  EXPECT_DEATH(work.LayOut(more_rows), "room for the rows");
  proto::PlanLimits more_reads = kLimits;
  more_reads.max_reads = kRowsRead + 1;
  EXPECT_DEATH(work.LayOut(more_reads), "room for the rows");
}

INSTANTIATE_TEST_SUITE_P(All, WorkspaceTest,
                         ::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                           Precision::kInt8),
                         [](const auto& param) { return std::string(Name(param.param)); });

}  // namespace workspace_test
}  // namespace scorecast::shard
