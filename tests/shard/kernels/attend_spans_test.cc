// The attention kernel over several tiles: when a row's maximum is raised, and how spans are
// folded.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/shard/kernels/attend_tile.h"
#include "tests/shard/softmax_oracle.h"

namespace scorecast::shard {
namespace attend_spans_test {

class AttendSpans : public AttendTile {
 protected:
  /// Folds the spans' sums into those of `rows` in one call, in arrays of exactly their size.
  void Fold(std::span<Row> spans, std::span<Row> rows) const {
    std::vector<float> outputs[2];
    std::vector<float> states[2];
    for (const std::size_t i : {0U, 1U}) {
      for (const Row& row : i == 0 ? spans : rows) {
        outputs[i].insert(outputs[i].end(), row.output.begin(), row.output.end());
        states[i].insert(states[i].end(), row.state.begin(), row.state.end());
      }
    }
    const auto count = static_cast<std::int64_t>(rows.size());
    const auto stride = static_cast<std::int64_t>(rows[0].output.size());
    kernels_.fold({count, stride, outputs[0].data(), states[0].data()},
                  {count, stride, outputs[1].data(), states[1].data()});
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::copy_n(outputs[1].begin() + static_cast<std::ptrdiff_t>(r) * stride, stride,
                  rows[r].output.begin());
      std::copy_n(states[1].begin() + static_cast<std::ptrdiff_t>(r) * kRowState, kRowState,
                  rows[r].state.begin());
    }
  }
};

// The first tile that a row sees sets the row's maximum. Later, only scores that exceed the maximum
// by more than the slack raise it. It makes no difference whether other rows of the call raise
// theirs.
TEST_P(AttendSpans, MaximumIsRaisedBeyondTheSlack) {
  const std::int64_t head_dim = 16;
  constexpr std::array<float, 6> kScores = {-1000, -996, -995.5F, -991.75F, -991.5F, 3};
  constexpr std::array<float, 6> kMaxima = {-1000, -1000, -995.5F, -995.5F, -995.5F, 3};
  std::vector<Row> rows = RandomRows(7, head_dim);
  for (Row& row : rows) {
    row.query.assign(row.query.size(), 0.0F);
  }
  rows[3].query[0] = 1;
  rows[3].query[1] = 1;
  rows[5].query[0] = 0.5F;  // The other rows have the score 0 for all keys.
  Row alone = rows[3];
  std::vector<testing::VisibleKey> seen;
  std::vector<Tile> tiles;  // Must outlive `seen`.
  tiles.reserve(kScores.size());
  for (std::size_t t = 0; t < kScores.size(); ++t) {
    Tile& tile = tiles.emplace_back(RandomTile(head_dim));
    for (std::size_t i = 0; i < kTileKeys; ++i) {
      const float score = kScores[t] - static_cast<float>(i % 8);
      tile.plain_keys[i].assign(static_cast<std::size_t>(head_dim), 0.0F);
      // Two elements, because bfloat16 does not have all of these numbers.
      tile.plain_keys[i][0] = type_.Round(score);
      tile.plain_keys[i][1] = score - tile.plain_keys[i][0];
    }
    tile.Pack();
  }
  for (std::size_t t = 0; t < kScores.size(); ++t) {
    const int visible = t % 2 == 0 ? kTileKeys : 41;
    std::vector<int> all(rows.size(), kTileKeys);
    all[3] = visible;
    Attend(tiles[t], rows, all);
    AttendAlone(tiles[t], alone, visible);
    Append(tiles[t], visible, seen);
    EXPECT_EQ(rows[3].maximum(), kMaxima[t]) << "tile " << t;
    ASSERT_TRUE(rows[3].SameSums(alone)) << "tile " << t;
    ASSERT_NO_FATAL_FAILURE(ExpectSoftmax(alone, seen, static_cast<std::int64_t>(t) + 1));
  }
}

// Tiles in spans, each from the initial state. A row that saw nothing in a span keeps its bits. A
// row that had seen nothing before gets the span's bits. A row alone has the bits that it has among
// others.
TEST_P(AttendSpans, FoldedSpansAreSoftmax) {
  for (const std::int64_t head_dim : kHeadDims) {
    for (const float size : {1.0F, 8.0F, 40.0F}) {
      constexpr int kSpans = 4;
      const std::vector<Row> start = RandomRows(13, head_dim, size);
      std::vector<Row> rows = start;
      std::vector<Row> alone = start;
      std::vector<std::vector<testing::VisibleKey>> seen(rows.size());
      std::vector<Tile> tiles;  // Must outlive `seen`.
      tiles.reserve(2 * kSpans);
      for (int s = 0; s < kSpans; ++s) {
        std::vector<Row> span = start;
        for (int t = 0; t < 2; ++t) {
          const Tile& tile = tiles.emplace_back(RandomTile(head_dim));
          const std::vector<int> visible = RandomVisible(rows.size(), kTileKeys);
          Attend(tile, span, visible);
          for (std::size_t r = 0; r < rows.size(); ++r) {
            Append(tile, visible[r], seen[r]);
          }
        }
        const std::vector<Row> before = rows;
        Fold(span, rows);
        for (std::size_t r = 0; r < rows.size(); ++r) {
          if (span[r].sum() == 0) {
            ASSERT_TRUE(rows[r].SameSums(before[r])) << "row " << r;
          } else if (before[r].sum() == 0) {
            ASSERT_TRUE(rows[r].SameSums(span[r])) << "row " << r;
          }
          Fold(std::span(span).subspan(r, 1), std::span(alone).subspan(r, 1));
          ASSERT_TRUE(rows[r].SameSums(alone[r])) << "row " << r;
        }
      }
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (!seen[r].empty()) {
          SCOPED_TRACE("row " + std::to_string(r) + ", size " + std::to_string(size));
          ASSERT_NO_FATAL_FAILURE(ExpectSoftmax(rows[r], seen[r], 2 * kSpans));
        }
      }
    }
  }
}

// A score that is not finite shows in the output, whether it is in the new span or in an earlier
// one.
TEST_P(AttendSpans, FoldKeepsNonFiniteScores) {
  const std::int64_t head_dim = 16;
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    Tile tile = RandomTile(head_dim);
    tile.plain_keys[0][3] = bad;
    tile.Pack();
    std::vector<Row> broken = RandomRows(1, head_dim);
    broken[0].query[3] = 1;
    std::vector<Row> whole = broken;
    AttendAlone(tile, broken[0], kTileKeys);
    AttendAlone(RandomTile(head_dim), whole[0], kTileKeys);
    for (const bool is_first : {false, true}) {
      std::vector<Row> span = is_first ? whole : broken;
      std::vector<Row> rows = is_first ? broken : whole;
      Fold(span, rows);
      EXPECT_FALSE(std::isfinite(rows[0].output[0] / rows[0].sum())) << bad << ", " << is_first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttendSpans, ::testing::ValuesIn(Kinds()),
                         ::testing::PrintToStringParamName());

}  // namespace attend_spans_test
}  // namespace scorecast::shard
