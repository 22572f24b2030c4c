// Every rank gets its columns of matrices of which each rank reads only some rows, and a rank that
// cannot read its rows fails all ranks.

#include "shard/exchange/column_exchange.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "shard/checkpoint/weight_file.h"
#include "tests/mpi/engine_harness.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::testing {
namespace column_exchange_test {

using proto::Range;
using shard::ColumnExchange;
using shard::ColumnReads;
using ::testing::HasSubstr;

/// Each rank has a copy of one file, with matrices of bfloat16 one behind the other.
class ColumnExchangeTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kNumbers = 20'000;

  ColumnExchangeTest() {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      numbers_[i] = static_cast<std::uint16_t>(i);
    }
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers_.data()), kNumbers * 2);
    file_.emplace(path_);
  }

  /// A matrix that begins at the number `first`.
  shard::TensorView Matrix(std::int64_t first, std::int64_t rows, std::int64_t columns) const {
    return {.dtype = shard::Dtype::kBF16,
            .shape = {rows, columns},
            .file = &*file_,
            .offset = first * 2,
            .bytes = rows * columns * 2};
  }

  /// Columns divided unevenly; the second of several ranks has none.
  std::vector<Range> Uneven(std::int64_t columns) const {
    std::vector<Range> ranges;
    std::int64_t begin = 0;
    for (int rank = 0; rank < group_.size(); ++rank) {
      const std::int64_t left = columns - begin;
      const std::int64_t size = rank + 1 == group_.size() ? left : rank == 1 ? 0 : left / 3;
      ranges.push_back({begin, begin + size});
      begin += size;
    }
    return ranges;
  }

  /// The columns that this rank gets, against the file's numbers.
  void ExpectOwnColumns(ColumnExchange& exchange, std::int64_t first, std::int64_t rows,
                        std::int64_t columns) {
    const shard::TensorView matrix = Matrix(first, rows, columns);
    const std::vector<Range> split = Uneven(columns);
    const shard::ColumnsInMemory found = exchange.Read({&matrix, split});
    const Range own = split[static_cast<std::size_t>(group_.rank())];
    EXPECT_EQ(found.view.shape, (std::vector<std::int64_t>{rows, own.size()}));
    EXPECT_EQ(found.view.dtype, shard::Dtype::kBF16);
    std::vector<std::uint16_t> expected;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = own.begin; column < own.end; ++column) {
        expected.push_back(numbers_[static_cast<std::size_t>(first + row * columns + column)]);
      }
    }
    std::vector<std::uint16_t> in_memory(found.bytes.size() / 2);
    std::memcpy(in_memory.data(), found.bytes.data(), found.bytes.size());
    EXPECT_EQ(in_memory, expected);
  }

  proto::Communicator group_ = proto::Communicator::World();
  shard::ThreadPool pool_{2};
  std::vector<std::uint16_t> numbers_ = std::vector<std::uint16_t>(kNumbers);
  const reference::TempDirectory dir_;
  const std::filesystem::path path_ = dir_.path() / "weights";
  std::optional<shard::WeightFile> file_;
};

TEST_F(ColumnExchangeTest, GivesEachRankItsColumns) {
  // In one piece, in several, and with a row for each piece, because a row has more bytes than one.
  for (const std::int64_t piece_bytes :
       {ColumnExchange::kPieceBytes, std::int64_t{700}, std::int64_t{1}}) {
    SCOPED_TRACE(piece_bytes);
    ColumnExchange exchange(group_, pool_, piece_bytes);
    ExpectOwnColumns(exchange, 7, 101, 48);
    ExpectOwnColumns(exchange, 0, 1, 300);  // Fewer rows than ranks.
    ExpectOwnColumns(exchange, 0, 0, 48);
    ExpectOwnColumns(exchange, 3000, 50, 340);
  }
}

TEST_F(ColumnExchangeTest, EachRowIsReadByOneRank) {
  const shard::TensorView matrix = Matrix(0, 101, 48);
  std::int64_t end = 0;
  for (int rank = 0; rank < 7; ++rank) {
    const Range rows = ColumnExchange::RowsReadBy(matrix, rank, 7);
    EXPECT_EQ(rows.begin, end);
    EXPECT_NEAR(static_cast<double>(rows.size()), 101.0 / 7, 1);
    end = rows.end;
  }
  EXPECT_EQ(end, 101);
}

// The last rank's rows are gone when it reads them, in its first piece or in a later one.
TEST_F(ColumnExchangeTest, AFileThatOneRankCannotReadFailsAll) {
  const int last = group_.size() - 1;
  for (const std::int64_t piece_bytes : {ColumnExchange::kPieceBytes, std::int64_t{700}}) {
    ColumnExchange exchange(group_, pool_, piece_bytes);
    if (group_.rank() == last) {
      std::filesystem::resize_file(path_, (3000 + 50 * 340 - 10) * 2);
    }
    const shard::TensorView matrix = Matrix(3000, 50, 340);
    try {
      exchange.Read({&matrix, Uneven(340)});
      ADD_FAILURE() << "this rank has no columns of the last rank's rows";
    } catch (const proto::StartupError& fault) {
      EXPECT_THAT(fault.what(), HasSubstr("truncated"));
      if (last > 0) {
        EXPECT_THAT(fault.what(), HasSubstr("rank " + std::to_string(last) + ": "));
      }
    }
    ExpectOwnColumns(exchange, 7, 101, 48);  // The ranks are still in step.
  }
}

/// An engine whose column weights are read in one way, and its results.
struct Loaded {
  std::vector<shard::FileChecksum> checksums;
  std::vector<proto::RowLogits> rows;
};

class ColumnReadsOfEngines : public ::testing::TestWithParam<shard::Precision> {
 protected:
  static Loaded Load(const std::filesystem::path& model, ColumnReads reads) {
    Engine engine(
        model,
        {.max_rows = 64, .precision = GetParam(), .has_checksums = true, .column_reads = reads});
    Loaded loaded;
    loaded.checksums = engine.checksums();
    const auto query = reference::RandomTokens(1, 20, engine.config().vocab_size);
    loaded.rows = engine.RunInParts(ItemsSequence(query, {{1, 2}, {3}}, {3, 7, 150}));
    return loaded;
  }
};

TEST_P(ColumnReadsOfEngines, GiveTheSameWeights) {
  const reference::TempDirectory dir;  // Each rank has its own, with the same weights.
  reference::RandomCheckpoint checkpoint;
  checkpoint.config = reference::TinyConfig("qwen3");
  checkpoint.shards = 3;
  reference::WriteRandomCheckpoint(dir.path(), checkpoint);
  const Loaded whole = Load(dir.path(), ColumnReads::kByEachRank);
  const Loaded exchanged = Load(dir.path(), ColumnReads::kExchanged);
  ASSERT_EQ(whole.checksums.size(), 3U);
  for (std::size_t i = 0; i < whole.checksums.size(); ++i) {
    EXPECT_EQ(exchanged.checksums[i].crc32c, whole.checksums[i].crc32c);
  }
  ASSERT_EQ(exchanged.rows.size(), whole.rows.size());
  for (std::size_t i = 0; i < whole.rows.size(); ++i) {
    EXPECT_TRUE(SameBits(exchanged.rows[i], whole.rows[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, ColumnReadsOfEngines,
                         ::testing::Values(shard::Precision::kFloat32, shard::Precision::kBfloat16,
                                           shard::Precision::kInt8));

}  // namespace column_exchange_test
}  // namespace scorecast::testing
