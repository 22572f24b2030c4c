// The attention kernel, tile by tile, against softmax(q · Kᵀ) · V in float64.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"
#include "tests/shard/kernels/instruction_sets.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/softmax_oracle.h"

namespace scorecast::shard {
namespace {

using testing::RandomFloat;
using testing::RandomFloats;
using testing::RandomInt;
using testing::SameBits;

constexpr std::array<std::int64_t, 4> kHeadDims = {8, 16, 80, 128};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::int64_t RoundUp(std::int64_t n) { return (n + kKeyLanes - 1) / kKeyLanes * kKeyLanes; }

/// Keys and values of one tile, plainly and as the kernel reads them.
struct Tile {
  /// `keys` of them; the arrays hold no more than the kernel may touch.
  Tile(std::mt19937& random, std::int64_t dim, std::int64_t key_count)
      : head_dim(dim), count(key_count) {
    for (std::int64_t i = 0; i < count; ++i) {
      plain_keys.push_back(RandomFloats(random, head_dim, 2));
      plain_values.push_back(RandomFloats(random, head_dim));
    }
    Pack();
  }

  void Pack() {
    // Of the last group of keys the unused lanes are read, and must not count.
    keys.assign(static_cast<std::size_t>(RoundUp(count) * head_dim), kNan);
    values.assign(static_cast<std::size_t>(count * RoundUp(head_dim)), 0.0F);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto& key = plain_keys[static_cast<std::size_t>(i)];
      const auto& value = plain_values[static_cast<std::size_t>(i)];
      for (std::int64_t d = 0; d < head_dim; ++d) {
        keys[static_cast<std::size_t>((i / kKeyLanes * head_dim + d) * kKeyLanes + i % kKeyLanes)] =
            key[static_cast<std::size_t>(d)];
        values[static_cast<std::size_t>(i * RoundUp(head_dim) + d)] =
            value[static_cast<std::size_t>(d)];
      }
    }
  }

  std::int64_t head_dim;
  std::int64_t count;
  std::vector<std::vector<float>> plain_keys;
  std::vector<std::vector<float>> plain_values;
  std::vector<float> keys;
  std::vector<float> values;
};

/// A query row and what it has summed so far.
struct Row {
  Row(std::mt19937& random, std::int64_t head_dim)
      : query(RandomFloats(random, head_dim)),
        output(static_cast<std::size_t>(RoundUp(head_dim)), 0.0F) {}

  bool SameSums(const Row& other) const {
    return SameBits(output, other.output) && SameBits(state, other.state);
  }

  std::vector<float> query;
  std::vector<float> output;
  std::vector<float> state = {kNoScore, 0.0F};
};

class AttendTile : public KernelsTest {
 protected:
  void Attend(const Tile& tile, const std::array<Row*, kTileRows>& rows,
              const std::array<int, kTileRows>& visible) {
    AttentionTile attended;
    attended.head_dim = tile.head_dim;
    attended.keys = tile.keys.data();
    attended.values = tile.values.data();
    attended.value_stride = RoundUp(tile.head_dim);
    attended.visible = visible;
    for (std::size_t r = 0; r < kTileRows; ++r) {
      attended.query[r] = rows[r]->query.data();
      attended.output[r] = rows[r]->output.data();
      attended.state[r] = rows[r]->state.data();
    }
    kernels_.attend_tile(attended);
  }

  /// One row alone, in `lane` of the kernel, beside rows that see nothing.
  void AttendAlone(const Tile& tile, Row& row, int visible, std::size_t lane = 0) {
    Row missing(random_, tile.head_dim);
    std::array<Row*, kTileRows> rows = {&missing, &missing, &missing, &missing};
    std::array<int, kTileRows> seen = {};
    rows[lane] = &row;
    seen[lane] = visible;
    Attend(tile, rows, seen);
  }

  Tile RandomTile(std::int64_t head_dim, std::int64_t count = kTileKeys) {
    return Tile(random_, head_dim, count);
  }

  std::mt19937 random_{2};
};

// Rows that see different numbers of keys of up to six tiles, some nothing of a tile.
TEST_P(AttendTile, ChainIsSoftmax) {
  for (const std::int64_t head_dim : kHeadDims) {
    for (int round = 0; round < 40; ++round) {
      std::vector<Row> rows(kTileRows, Row(random_, head_dim));
      for (Row& row : rows) {
        row.query = RandomFloats(random_, head_dim, round % 2 == 0 ? 1.0F : 8.0F);
      }
      std::vector<std::vector<testing::VisibleKey>> seen(kTileRows);
      std::vector<Tile> tiles;  // Outlive `seen`.
      const int tile_count = RandomInt(random_, 1, 6);
      tiles.reserve(static_cast<std::size_t>(tile_count));
      for (int t = 0; t < tile_count; ++t) {
        std::array<int, kTileRows> visible = {};
        int most = 1;
        for (int& v : visible) {
          v = RandomInt(random_, 0, 3) == 0 ? 0 : RandomInt(random_, t == 0 ? 1 : 0, kTileKeys);
          most = std::max(most, v);
        }
        const Tile& tile = tiles.emplace_back(RandomTile(head_dim, most));
        Attend(tile, {&rows[0], &rows[1], &rows[2], &rows[3]}, visible);
        for (std::size_t r = 0; r < kTileRows; ++r) {
          for (std::size_t i = 0; i < static_cast<std::size_t>(visible[r]); ++i) {
            seen[r].push_back({tile.plain_keys[i].data(), tile.plain_values[i].data()});
          }
        }
      }
      for (std::size_t r = 0; r < kTileRows; ++r) {
        if (seen[r].empty()) {
          EXPECT_EQ(rows[r].state[1], 0);
          continue;
        }
        const testing::SoftmaxRow expected =
            testing::SoftmaxOf(rows[r].query, seen[r], 1.0, tile_count);
        for (std::size_t d = 0; d < expected.output.size(); ++d) {
          ASSERT_NEAR(rows[r].output[d] / rows[r].state[1], expected.output[d],
                      expected.tolerance[d])
              << "head_dim " << head_dim << ", round " << round << ", row " << r << ", d " << d;
        }
      }
    }
  }
}

TEST_P(AttendTile, EveryNumberOfVisibleKeys) {
  for (const std::int64_t head_dim : kHeadDims) {
    for (int visible = 1; visible <= kTileKeys; ++visible) {
      const Tile tile = RandomTile(head_dim, visible);
      Row row(random_, head_dim);
      AttendAlone(tile, row, visible);
      std::vector<testing::VisibleKey> keys;
      for (std::size_t i = 0; i < static_cast<std::size_t>(visible); ++i) {
        keys.push_back({tile.plain_keys[i].data(), tile.plain_values[i].data()});
      }
      const testing::SoftmaxRow expected = testing::SoftmaxOf(row.query, keys, 1.0, 1);
      for (std::size_t d = 0; d < expected.output.size(); ++d) {
        ASSERT_NEAR(row.output[d] / row.state[1], expected.output[d], expected.tolerance[d])
            << "head_dim " << head_dim << ", visible " << visible << ", d " << d;
      }
    }
  }
}

TEST_P(AttendTile, RowThatSeesNothingKeepsItsBits) {
  for (const std::int64_t head_dim : kHeadDims) {
    const Tile tile = RandomTile(head_dim);
    for (std::size_t lane = 0; lane < kTileRows; ++lane) {
      std::vector<Row> rows(kTileRows, Row(random_, head_dim));
      std::array<int, kTileRows> visible = {64, 17, 1, 33};
      visible[lane] = 0;
      Row& blind = rows[lane];
      blind.output = RandomFloats(random_, RoundUp(head_dim), 5);
      blind.output[1] = -0.0F;
      blind.output[2] = kNan;
      blind.state = {RandomFloat(random_, 50), 3.25F};
      const Row before = blind;
      Attend(tile, {&rows[0], &rows[1], &rows[2], &rows[3]}, visible);
      EXPECT_TRUE(blind.SameSums(before)) << "head_dim " << head_dim << ", lane " << lane;
    }
  }
}

TEST_P(AttendTile, OtherRowsAndLanesChangeNoBits) {
  for (const std::int64_t head_dim : kHeadDims) {
    for (int round = 0; round < 50; ++round) {
      const Tile first = RandomTile(head_dim);
      const Tile second = RandomTile(head_dim);
      const int visible = RandomInt(random_, 0, kTileKeys);
      Row alone(random_, head_dim);
      const Row start = alone;
      AttendAlone(first, alone, kTileKeys);
      AttendAlone(second, alone, visible);
      for (std::size_t lane = 0; lane < kTileRows; ++lane) {
        std::vector<Row> rows(kTileRows, Row(random_, head_dim));
        rows[lane] = start;
        for (const Tile* tile : {&first, &second}) {
          std::array<int, kTileRows> seen = {};
          for (std::size_t r = 0; r < kTileRows; ++r) {
            seen[r] = RandomInt(random_, 0, kTileKeys);
            if (r != lane) {
              rows[r].query = RandomFloats(random_, head_dim, 30);
            }
          }
          seen[lane] = tile == &first ? kTileKeys : visible;
          Attend(*tile, {&rows[0], &rows[1], &rows[2], &rows[3]}, seen);
        }
        ASSERT_TRUE(rows[lane].SameSums(alone))
            << "head_dim " << head_dim << ", lane " << lane << ", visible " << visible;
      }
    }
  }
}

// A broken token's key and value do not reach rows that do not see it, though others of the tile
// do.
TEST_P(AttendTile, UnseenNanStaysUnseen) {
  for (const std::int64_t head_dim : kHeadDims) {
    for (const float bad : {kNan, kInfinity}) {
      Tile tile = RandomTile(head_dim);
      std::vector<Row> rows(kTileRows, Row(random_, head_dim));
      const std::vector<Row> start = rows;
      const std::array<int, kTileRows> visible = {20, 21, 64, 0};
      tile.plain_keys[20].assign(static_cast<std::size_t>(head_dim), bad);
      tile.plain_values[20].assign(static_cast<std::size_t>(head_dim), bad);
      tile.Pack();
      Attend(tile, {&rows[0], &rows[1], &rows[2], &rows[3]}, visible);
      for (std::size_t r = 0; r < kTileRows; ++r) {
        Row alone = start[r];
        AttendAlone(tile, alone, visible[r]);
        if (visible[r] <= 20) {
          EXPECT_TRUE(rows[r].SameSums(alone)) << "row " << r;
          EXPECT_TRUE(std::isfinite(rows[r].state[1]) && std::isfinite(rows[r].output[0]));
        } else {
          EXPECT_FALSE(std::isfinite(rows[r].output[0] / rows[r].state[1])) << "row " << r;
        }
      }
    }
  }
}

TEST_P(AttendTile, ScoreThatIsNotFiniteShows) {
  const std::int64_t head_dim = 16;
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const int visible : {1, 2, 40}) {
      Tile tile = RandomTile(head_dim);
      tile.plain_keys[0][3] = bad;
      tile.Pack();
      Row row(random_, head_dim);
      row.query[3] = 1;
      AttendAlone(tile, row, visible);
      const Tile next = RandomTile(head_dim);
      AttendAlone(next, row, kTileKeys);
      EXPECT_FALSE(std::isfinite(row.output[0] / row.state[1])) << bad << ", " << visible;
    }
  }
}

// Scores far below and far above each other, in either order.
TEST_P(AttendTile, LargeScores) {
  const std::int64_t head_dim = 8;
  for (const float size : {1e3F, 1e20F, 1e35F}) {
    for (const float sign : {1.0F, -1.0F}) {
      Tile tile = RandomTile(head_dim, 3);
      for (std::size_t i = 0; i < 3; ++i) {
        tile.plain_keys[i].assign(static_cast<std::size_t>(head_dim), 0.0F);
        tile.plain_keys[i][0] = -size * sign * static_cast<float>(i + 1);
      }
      tile.Pack();
      Row row(random_, head_dim);
      row.query[0] = 1;
      AttendAlone(tile, row, 3);
      const std::size_t best = sign > 0 ? 0 : 2;
      EXPECT_EQ(row.state[0], tile.plain_keys[best][0]);
      EXPECT_EQ(row.output[0] / row.state[1], tile.plain_values[best][0]) << size * sign;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttendTile, ::testing::ValuesIn(InstructionSets()),
                         InstructionSetName);

}  // namespace
}  // namespace scorecast::shard
