// How Linear divides a product into tasks.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "shard/linear/linear.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {
namespace linear_tasks_test {

using proto::Range;
using Widths = std::vector<std::int64_t>;

/// A part of a product that was computed at once.
struct Part {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  Range outputs;
};

/// Computes nothing.
class NoWeight : public PackedWeight {
 public:
  NoWeight(Widths widths, std::int64_t granule) : widths_(std::move(widths)), granule_(granule) {}

  std::int64_t column_granule() const override { return granule_; }
  void Multiply(const Activations&, std::int64_t, std::int64_t rows, std::int64_t chunk,
                Range columns, float*, int) const override {
    const std::int64_t width = widths_.at(static_cast<std::size_t>(chunk));
    EXPECT_LE(rows, kMostTileRows);
    EXPECT_LT(columns.begin, columns.end);
    EXPECT_EQ(columns.begin % granule_, 0);
    EXPECT_TRUE(columns.end == width || columns.end % granule_ == 0);
    EXPECT_LE(columns.end, width);
  }

 private:
  Widths widths_;
  std::int64_t granule_;
};

class NoBackend : public GemmBackend {
 public:
  explicit NoBackend(std::int64_t granule) : granule_(granule) {}

  std::unique_ptr<PackedWeight> Pack(Precision, const WeightSource& source, ThreadPool&) override {
    return std::make_unique<NoWeight>(source.widths, granule_);
  }
  std::string Description(Precision) const override { return "none"; }
  std::vector<std::int64_t> Heights(Precision) const override { return {}; }

 private:
  std::int64_t granule_;
};

class Product {
 public:
  Product(const Widths& widths, std::int64_t group, std::int64_t in, std::int64_t granule)
      : linear_(Make(widths, group, in, granule)) {}

  /// The parts of a product; each tile of rows and outputs is one.
  std::vector<Part> Forward(std::int64_t rows, ThreadPool& pool) {
    std::mutex mutex;
    std::vector<Part> parts;
    linear_.Forward({}, rows, pool, [&](const ProductTile& tile) {
      const std::lock_guard lock(mutex);
      parts.push_back({tile.first_row, tile.rows, tile.columns});
    });
    return parts;
  }

 private:
  Linear Make(const Widths& widths, std::int64_t group, std::int64_t in, std::int64_t granule) {
    NoBackend backend(granule);
    WeightSource source;
    source.widths = widths;
    source.group = group;
    source.in = in;
    ThreadPool alone(1);
    return {backend, Precision::kFloat32, source, alone, scratch_};
  }

  TileScratch scratch_{4};
  Linear linear_;
};

std::int64_t Largest(const std::vector<Part>& parts) {
  std::int64_t largest = 0;
  for (const Part& part : parts) {
    largest = std::max(largest, part.rows * part.outputs.size());
  }
  return largest;
}

TEST(LinearTasks, CoverTheProductOnce) {
  for (const Widths& widths : {Widths{256, 256, 7}, {128, 64, 64}, {300}, {1, 1, 1}}) {
    for (const std::int64_t granule :
         {std::int64_t{1}, std::int64_t{16}, std::int64_t{48}, kWholeChunk}) {
      for (const std::int64_t in : {1, 500, 5000}) {
        Product product(widths, 1, in, granule);
        ThreadPool pool(3);
        for (const std::int64_t rows : {1, 16, 17, 200, 1000}) {
          std::int64_t computed = 0;
          std::set<std::pair<std::int64_t, std::int64_t>> corners;
          for (const Part& part : product.Forward(rows, pool)) {
            computed += part.rows * part.outputs.size();
            corners.insert({part.first_row, part.outputs.begin});
            EXPECT_LE(part.first_row + part.rows, rows);
          }
          const std::int64_t out = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
          EXPECT_EQ(computed, rows * out);
          EXPECT_TRUE(corners.contains({0, 0}));
        }
      }
    }
  }
}

// A tile has only whole groups, even if the backend could compute less.
TEST(LinearTasks, KeepGroupsTogether) {
  ThreadPool pool(4);
  for (const std::int64_t granule : {1, 16, 48}) {
    Product product({256, 192, 256, 5}, 64, 4000, granule);
    for (const std::int64_t rows : {1, 3, 100}) {
      for (const Part& part : product.Forward(rows, pool)) {
        for (const std::int64_t border : {part.outputs.begin, part.outputs.end}) {
          EXPECT_TRUE(border % 64 == 0 || border == 256 + 192 + 256 + 5) << border;
        }
      }
    }
  }
}

// Each part copies or widens its rows anew.
TEST(LinearTasks, OfManyRowsAreFewIfTheProductIsSmall) {
  ThreadPool pool(2);
  Product small({256, 128}, 1, 384, 16);
  const std::vector<Part> parts = small.Forward(150, pool);
  EXPECT_GE(parts.size(), 4U * 2);
  EXPECT_LE(parts.size(), 4U * 2 + 2) << "a part has outputs of two chunks";
  Product large({256, 256, 256, 256, 256, 256}, 1, 4096, 16);
  EXPECT_GE(large.Forward(150, pool).size(), 12U * 2);
}

TEST(LinearTasks, OfOneRowAreEvenAndEnoughForAllThreads) {
  Product product({256, 256, 256, 128}, 1, 4864, 16);
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    const std::vector<Part> parts = product.Forward(1, pool);
    EXPECT_GE(parts.size(), 4U * static_cast<unsigned>(threads));
    EXPECT_LE(Largest(parts) * threads, 896 / 4);
  }
}

TEST(LinearTasks, OfFewRowsAreNotTiny) {
  ThreadPool pool(4);
  Product small({256, 256}, 1, 64, 16);
  EXPECT_EQ(small.Forward(1, pool).size(), 2U) << "one task, and a tile for each chunk";
  Product large({256, 256}, 1, 4096, 16);
  for (const Part& part : large.Forward(1, pool)) {
    EXPECT_GE(part.outputs.size() * 4096, 1 << 15);
  }
}

// If a backend computes only whole chunks, it gets narrower panels of rows instead.
TEST(LinearTasks, OfWholeChunksDivideTheRows) {
  ThreadPool pool(4);
  Product product({256, 256}, 1, 4096, kWholeChunk);
  const std::vector<Part> parts = product.Forward(384, pool);
  EXPECT_EQ(parts.size(), 48U);
  EXPECT_EQ(Largest(parts), 16 * 256);
  EXPECT_EQ(product.Forward(16, pool).size(), 2U);
}

TEST(LinearTasks, OfManyRowsAreAsLargeAsTheyMayBe) {
  ThreadPool pool(2);
  Product product(Widths(38, 256), 64, 896, 16);
  const std::vector<Part> parts = product.Forward(1024, pool);
  EXPECT_EQ(parts.size(), 8U * 38U);
  EXPECT_EQ(Largest(parts), kMostTileRows * 256);
}

}  // namespace linear_tasks_test
}  // namespace scorecast::shard
