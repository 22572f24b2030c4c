// The attention kernel, tile by tile, compared with softmax(q · Kᵀ) · V in float64.

#include "tests/shard/kernels/attend_tile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/shard/random_floats.h"
#include "tests/shard/softmax_oracle.h"

namespace scorecast::shard {
namespace attend_tile_test {

using testing::RandomFloats;
using testing::RandomInt;

TEST_P(AttendTile, SaysItsElementSize) { EXPECT_EQ(kernels_.element_size, type_.size()); }

TEST_P(AttendTile, StoresQueries) {
  for (std::int64_t n = 2; n <= 130; n += 2) {
    const std::vector<float> x = RandomFloats(random_, n, 3);
    constexpr float kFactor = 0.0883883461F;
    std::vector<std::byte> out(static_cast<std::size_t>(n * kernels_.query_size));
    kernels_.store_query(x.data(), kFactor, n, out.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const float product = kFactor * x[static_cast<std::size_t>(i)];
      ASSERT_EQ(query_type_.At(out.data(), i), type_.Round(product)) << "n " << n << ", i " << i;
    }
  }
}

// Each row is written to its own lane, in any order, and nothing beside it is touched.
TEST_P(AttendTile, StoresKeysAndValues) {
  for (std::int64_t n = 2; n <= 130; n += 2) {
    const std::int64_t stride = RoundUp(n);
    std::vector<std::byte> group(static_cast<std::size_t>(kKeyLanes * n * type_.size()));
    std::vector<std::byte> values(static_cast<std::size_t>(kKeyLanes * stride * type_.size()));
    std::vector<int> order(kKeyLanes);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    std::map<int, std::pair<std::vector<float>, std::vector<float>>> written;
    for (const int row : order) {
      const auto& [key, value] =
          written[row] = {RandomFloats(random_, n), RandomFloats(random_, n)};
      kernels_.store_key(key.data(), n, 32 + row, group.data());
      kernels_.store_value(value.data(), n, row, stride, values.data());
      for (int other = 0; other < kKeyLanes; ++other) {
        const auto entry = written.find(other);
        for (std::int64_t d = 0; d < stride; ++d) {
          const bool is_there = entry != written.end() && d < n;
          const auto at = static_cast<std::size_t>(d);
          if (d < n) {
            ASSERT_EQ(type_.At(group.data(), type_.KeyIndex(other, d, n)),
                      is_there ? type_.Round(entry->second.first[at]) : 0)
                << "n " << n << ", row " << other << ", d " << d;
          }
          ASSERT_EQ(type_.At(values.data(), type_.ValueIndex(other, d, stride)),
                    is_there ? type_.Round(entry->second.second[at]) : 0)
              << "n " << n << ", row " << other << ", d " << d;
        }
      }
    }
  }
}

// Every number of rows in a call. The rows see different numbers of keys of each tile, and some see
// none.
TEST_P(AttendTile, ChainIsSoftmax) {
  for (int count = 1; count <= 60; ++count) {
    const std::int64_t head_dim = kHeadDims[static_cast<std::size_t>(count) % kHeadDims.size()];
    std::vector<Row> rows = RandomRows(count, head_dim, count % 2 == 0 ? 1.0F : 8.0F);
    std::vector<std::vector<testing::VisibleKey>> seen(rows.size());
    const int tile_count = RandomInt(random_, 1, 3);
    std::vector<Tile> tiles;  // Must outlive `seen`.
    tiles.reserve(static_cast<std::size_t>(tile_count));
    for (int t = 0; t < tile_count; ++t) {
      const std::vector<int> visible = RandomVisible(rows.size(), kTileKeys);
      const int most = *std::ranges::max_element(visible);
      const Tile& tile = tiles.emplace_back(RandomTile(head_dim, std::max(most, 1)));
      Attend(tile, rows, visible);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        Append(tile, visible[r], seen[r]);
      }
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (seen[r].empty()) {
        EXPECT_EQ(rows[r].maximum(), kNoScore);
        EXPECT_EQ(rows[r].sum(), 0);
        continue;
      }
      SCOPED_TRACE("row " + std::to_string(r) + " of " + std::to_string(count));
      ASSERT_NO_FATAL_FAILURE(ExpectSoftmax(rows[r], seen[r], tile_count));
    }
  }
}

TEST_P(AttendTile, EveryNumberOfVisibleKeys) {
  for (const std::int64_t head_dim : kHeadDims) {
    for (int visible = 1; visible <= kTileKeys; ++visible) {
      const Tile tile = RandomTile(head_dim, visible);
      Row row = RandomRow(head_dim);
      AttendAlone(tile, row, visible);
      std::vector<testing::VisibleKey> keys;
      Append(tile, visible, keys);
      ASSERT_NO_FATAL_FAILURE(ExpectSoftmax(row, keys, 1));
    }
  }
}

// Small caps and large ones, with hidden keys and without. A row alone has the bits that it has
// among others.
TEST_P(AttendTile, SoftCappedChainIsSoftmax) {
  for (const float softcap : {0.5F, 5.0F, 50.0F}) {
    softcap_ = softcap;
    for (const std::int64_t head_dim : kHeadDims) {
      std::vector<Row> rows = RandomRows(31, head_dim, head_dim % 3 == 0 ? 8.0F : 0.5F);
      std::vector<Row> alone = rows;
      std::vector<std::vector<testing::VisibleKey>> seen(rows.size());
      std::vector<Tile> tiles;  // Must outlive `seen`.
      tiles.reserve(2);
      for (const bool has_hidden : {false, true}) {
        const std::vector<int> visible = RandomVisible(rows.size(), kTileKeys);
        std::vector<int> hidden(rows.size(), 0);
        for (std::size_t r = 0; has_hidden && r < rows.size(); ++r) {
          hidden[r] = RandomInt(random_, 0, std::max(visible[r] - 1, 0));
        }
        const Tile& tile = tiles.emplace_back(RandomTile(head_dim));
        const auto hidden_or_none = [&](std::size_t first, std::size_t count) {
          return std::span(hidden).subspan(first, has_hidden ? count : 0);
        };
        Attend(tile, rows, visible, hidden_or_none(0, rows.size()));
        for (std::size_t r = 0; r < rows.size(); ++r) {
          Append(tile, visible[r], seen[r], hidden[r]);
          Attend(tile, std::span(alone).subspan(r, 1), std::span(visible).subspan(r, 1),
                 hidden_or_none(r, 1));
          ASSERT_TRUE(rows[r].SameSums(alone[r])) << "row " << r;
        }
      }
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (!seen[r].empty()) {
          SCOPED_TRACE("row " + std::to_string(r) + ", cap " + std::to_string(softcap));
          ASSERT_NO_FATAL_FAILURE(ExpectSoftmax(rows[r], seen[r], 2));
        }
      }
    }
  }
}

TEST_P(AttendTile, RowThatSeesNothingKeepsItsBits) {
  for (const std::int64_t head_dim : kHeadDims) {
    const Tile tile = RandomTile(head_dim);
    for (const std::size_t count : {1U, 4U, 31U}) {
      for (std::size_t at = 0; at < count; ++at) {
        std::vector<Row> rows = RandomRows(static_cast<std::int64_t>(count), head_dim);
        std::vector<int> visible(count);
        for (int& v : visible) {
          v = RandomInt(random_, 1, kTileKeys);
        }
        visible[at] = 0;
        Row& blind = rows[at];
        blind.output = RandomFloats(random_, RoundUp(head_dim), 5);
        blind.state = RandomFloats(random_, kRowState, 50);
        const Row before = blind;
        Attend(tile, rows, visible);
        ASSERT_TRUE(blind.SameSums(before))
            << "head_dim " << head_dim << ", row " << at << " of " << count;
      }
    }
  }
}

// The same rows in one call, in several calls, and one by one.
TEST_P(AttendTile, CompanyChangesNoBits) {
  constexpr std::size_t kRows = 60;
  for (const std::int64_t head_dim : kHeadDims) {
    for (int round = 0; round < 4; ++round) {
      const std::vector<Tile> tiles = {RandomTile(head_dim), RandomTile(head_dim)};
      const std::vector<std::vector<int>> visible = {RandomVisible(kRows, kTileKeys),
                                                     RandomVisible(kRows, round == 0 ? 3 : 64)};
      const std::vector<Row> start = RandomRows(kRows, head_dim, round == 1 ? 30.0F : 2.0F);
      std::vector<Row> alone = start;
      for (std::size_t t = 0; t < tiles.size(); ++t) {
        for (std::size_t r = 0; r < kRows; ++r) {
          AttendAlone(tiles[t], alone[r], visible[t][r]);
        }
      }
      for (const int longest : {60, 37, 9}) {
        std::vector<std::size_t> order(kRows);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random_);
        std::vector<Row> rows;
        for (const std::size_t r : order) {
          rows.push_back(start[r]);
        }
        for (std::size_t t = 0; t < tiles.size(); ++t) {
          std::vector<int> seen;
          for (const std::size_t r : order) {
            seen.push_back(visible[t][r]);
          }
          for (std::size_t begin = 0; begin < kRows;) {
            const auto size = std::min(
                kRows - begin,
                static_cast<std::size_t>(RandomInt(random_, longest == 60 ? 60 : 1, longest)));
            Attend(tiles[t], std::span(rows).subspan(begin, size),
                   std::span(seen).subspan(begin, size));
            begin += size;
          }
        }
        for (std::size_t r = 0; r < kRows; ++r) {
          ASSERT_TRUE(rows[r].SameSums(alone[order[r]]))
              << "head_dim " << head_dim << ", row " << r << ", calls of up to " << longest;
        }
      }
    }
  }
}

// Rows see keys [hidden, visible) of two tiles. The two keys and values that are hidden from all of
// them are not finite.
TEST_P(AttendTile, HiddenKeysHaveNoEffect) {
  for (const std::int64_t head_dim : kHeadDims) {
    std::vector<Row> rows = RandomRows(40, head_dim, 8.0F);
    std::vector<std::vector<testing::VisibleKey>> seen(rows.size());
    std::vector<Tile> tiles;  // Must outlive `seen`.
    tiles.reserve(2);
    for (const float bad : {kNan, kInfinity}) {
      std::vector<int> visible;
      std::vector<int> hidden;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        visible.push_back(RandomInt(random_, 0, 3) == 0 ? 0 : RandomInt(random_, 3, kTileKeys));
        hidden.push_back(RandomInt(random_, 2, std::max(visible[r] - 1, 2)));
      }
      Tile& tile = tiles.emplace_back(RandomTile(head_dim));
      for (const std::size_t i : {0U, 1U}) {
        tile.plain_keys[i].assign(static_cast<std::size_t>(head_dim), bad);
        tile.plain_values[i].assign(static_cast<std::size_t>(head_dim), bad);
      }
      tile.Pack();
      Attend(tile, rows, visible, hidden);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        Append(tile, visible[r], seen[r], hidden[r]);
      }
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (!seen[r].empty()) {
        SCOPED_TRACE("row " + std::to_string(r));
        ASSERT_NO_FATAL_FAILURE(ExpectSoftmax(rows[r], seen[r], 2));
      }
    }
  }
}

// The weight of a hidden key is exactly 0, even if all visible scores are as low as the initial
// maximum, kNoScore. The hidden values are so large that the smallest weight would show. Row 0 sees
// key 5, row 1 key 20.
TEST_P(AttendTile, HiddenKeysHaveNoWeight) {
  const std::int64_t head_dim = 16;
  const float lowest = type_.is_bf16 ? type_.Round(-3.3e38F) : kNoScore;
  const float large = type_.Round(3e38F);
  for (const float score : {0.0F, lowest}) {
    Tile tile = RandomTile(head_dim);
    for (std::size_t i = 0; i < kTileKeys; ++i) {
      tile.plain_keys[i].assign(static_cast<std::size_t>(head_dim), 0.0F);
      tile.plain_keys[i][0] = score;
      const float value = i < 4 ? kNan : i < 20 ? large : 0.5F;
      tile.plain_values[i].assign(static_cast<std::size_t>(head_dim), value);
    }
    tile.Pack();
    std::vector<Row> rows = RandomRows(2, head_dim);
    for (Row& row : rows) {
      row.query.assign(row.query.size(), 0.0F);
      row.query[0] = 1;
    }
    Attend(tile, rows, std::vector<int>{6, 21}, std::vector<int>{5, 20});
    EXPECT_EQ(rows[0].sum(), 1);
    EXPECT_EQ(rows[0].output[0], large);
    EXPECT_EQ(rows[1].sum(), 1);
    EXPECT_EQ(rows[1].output[0], 0.5F);
  }
}

// A key that is not finite does not affect rows that do not see it, even if other rows of the call
// do.
TEST_P(AttendTile, UnseenKeyHasNoEffect) {
  for (const std::int64_t head_dim : kHeadDims) {
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      Tile tile = RandomTile(head_dim);
      const std::vector<int> visible = {20, 21, 64, 0, 19, 1, 20};
      std::vector<Row> rows = RandomRows(static_cast<std::int64_t>(visible.size()), head_dim);
      std::vector<Row> expected = rows;
      Attend(tile, expected, visible);
      tile.plain_keys[20].assign(static_cast<std::size_t>(head_dim), bad);
      tile.Pack();
      Attend(tile, rows, visible);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (visible[r] <= 20) {
          EXPECT_TRUE(rows[r].SameSums(expected[r])) << "row " << r;
        } else {
          EXPECT_FALSE(std::isfinite(rows[r].output[0] / rows[r].sum())) << "row " << r;
        }
      }
    }
  }
}

// A value that a row does not see is multiplied by zero. If a row sees a value that is not finite,
// its output shows that.
TEST_P(AttendTile, UnseenValueHasNoEffect) {
  for (const std::int64_t head_dim : kHeadDims) {
    Tile tile = RandomTile(head_dim);
    const std::vector<int> visible = {20, 21, 64, 0, 19, 1, 20};
    const std::vector<Row> start = RandomRows(static_cast<std::int64_t>(visible.size()), head_dim);
    std::vector<Row> expected = start;
    Attend(tile, expected, visible);
    for (std::size_t i = 20; i < kTileKeys; ++i) {
      tile.plain_values[i].assign(static_cast<std::size_t>(head_dim), i % 2 == 0 ? -3e38F : 3e38F);
    }
    tile.Pack();
    std::vector<Row> rows = start;
    Attend(tile, rows, visible);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      EXPECT_EQ(rows[r].SameSums(expected[r]), visible[r] <= 20) << "row " << r;
    }
    tile = RandomTile(head_dim, 64);
    tile.plain_values[20][3] = kNan;
    tile.Pack();
    rows = start;
    Attend(tile, rows, visible);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      EXPECT_EQ(std::isfinite(rows[r].output[2]), true) << "row " << r;
      EXPECT_TRUE(visible[r] <= 20 || std::isnan(rows[r].output[3])) << "row " << r;
    }
  }
}

TEST_P(AttendTile, NonFiniteScoreShowsInTheOutput) {
  const std::int64_t head_dim = 16;
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const int visible : {1, 2, 40, 41}) {
      softcap_ = visible == 41 ? 20.0F : 0.0F;
      Tile tile = RandomTile(head_dim);
      tile.plain_keys[0][3] = bad;
      tile.Pack();
      Row row = RandomRow(head_dim);
      row.query[3] = 1;
      AttendAlone(tile, row, visible);
      AttendAlone(RandomTile(head_dim), row, kTileKeys);
      EXPECT_FALSE(std::isfinite(row.output[0] / row.sum())) << bad << ", " << visible;
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
        tile.plain_keys[i][0] = type_.Round(-size * sign * static_cast<float>(i + 1));
      }
      tile.Pack();
      Row row = RandomRow(head_dim);
      row.query[0] = 1;
      AttendAlone(tile, row, 3);
      const std::size_t best = sign > 0 ? 0 : 2;
      EXPECT_EQ(row.maximum(), tile.plain_keys[best][0]);
      EXPECT_EQ(row.output[0] / row.sum(), tile.plain_values[best][0]) << size * sign;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttendTile, ::testing::ValuesIn(Kinds()),
                         ::testing::PrintToStringParamName());

}  // namespace attend_tile_test
}  // namespace scorecast::shard
