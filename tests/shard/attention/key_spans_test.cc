#include "shard/attention/key_spans.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/attention/row_map.h"
#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace key_spans_test {

using proto::PlanSegment;
using proto::SegmentKind;
using testing::RandomInt;

constexpr std::int32_t kSpanKeys = kSpanTiles * 64;

/// A sequence all of whose rows are computed, at consecutive positions.
class KeySpansTest : public ::testing::Test {
 protected:
  void Add(SegmentKind kind, std::int32_t rows, bool continues = false) {
    PlanSegment segment;
    segment.kind = kind;
    segment.continues = continues;
    segment.first_position = rows_;
    segment.compute_end = rows;
    plan_.sequences[0].segments.push_back(segment);
    rows_ += rows;
    plan_.tokens.resize(static_cast<std::size_t>(rows_));
  }

  /// The spans of rows [first, end).
  std::vector<KeySpan> SpansOf(std::int32_t first, std::int32_t end, bool weighted = false,
                               std::optional<std::int64_t> window = {}) {
    RowMap map(rows_);
    map.Assign(plan_);
    const auto count = static_cast<std::size_t>(end - first);
    const auto places = map.rows().subspan(static_cast<std::size_t>(first), count);
    std::vector<KeySpan> spans;
    FindSpans({plan_.sequences[0], places, window, bidirectional_, weighted ? 0 : end - first},
              weighted, spans);
    return spans;
  }

  static void ExpectSpan(const KeySpan& span, std::int32_t segment, std::int32_t first_key,
                         std::int32_t tiles) {
    EXPECT_EQ(span.segment, segment);
    EXPECT_EQ(span.first_key, first_key);
    EXPECT_EQ(span.tiles, tiles);
  }

  /// Adds prefixes, blocks and suffixes that end anywhere in a page. Some continue the segment
  /// before them; some go back in position, or leave a gap.
  void AddRandom() {
    for (const SegmentKind kind :
         {SegmentKind::kPrefix, SegmentKind::kBlock, SegmentKind::kSuffix}) {
      const int count = RandomInt(random_, kind == SegmentKind::kPrefix ? 1 : 0, 12);
      for (int i = 0; i < count; ++i) {
        const int longest = RandomInt(random_, 0, 3) == 0 ? 1500 : 130;
        const bool is_page = RandomInt(random_, 0, 1) == 0;
        Add(kind, is_page ? 64 : RandomInt(random_, 1, longest),
            i > 0 && RandomInt(random_, 0, 1) == 0);
        std::int32_t& position = plan_.sequences[0].segments.back().first_position;
        position = std::max(0, position + RandomInt(random_, -200, 200));
      }
    }
  }

  /// A tile that a row sees, and the number of its span, counted from the first row of its chain.
  struct SeenTile {
    std::int32_t segment = 0;
    std::int32_t first_key = 0;
    std::int32_t span = 0;
  };

  std::vector<SeenTile> SeenTiles(const RowPlace& row, std::optional<std::int64_t> window) const {
    const std::vector<PlanSegment>& segments = plan_.sequences[0].segments;
    std::vector<SeenTile> seen;
    // Number of the chain's first span; a thousand more than that of the chain before.
    std::int32_t first_span = 0;
    std::int32_t tiles = 0;  // Number of the chain's tiles so far.
    const AttendedRows rows = {plan_.sequences[0], {}, window, bidirectional_};
    for (std::int32_t s = 0; s <= row.segment; ++s) {
      const PlanSegment& segment = segments[static_cast<std::size_t>(s)];
      if (!segment.continues && segment.kind != SegmentKind::kPrefix) {
        first_span += 1000;
        tiles = 0;
      }
      const KeyRange keys = SeenKeys(rows, row, s);
      for (std::int32_t key = 0; key < segment.compute_end; key += 64, ++tiles) {
        if (std::max(key, keys.begin) < std::min(key + 64, keys.end)) {
          seen.push_back({s, key, first_span + tiles / 16});
        }
      }
    }
    return seen;
  }

  /// Checks that the spans in which a row takes part have the tiles that it sees, in order, and
  /// divide them as SeenTiles does.
  void ExpectSeenTiles(const std::vector<KeySpan>& spans, std::int32_t row,
                       const std::vector<SeenTile>& seen) const {
    const std::vector<PlanSegment>& segments = plan_.sequences[0].segments;
    std::size_t found = 0;
    const KeySpan* last_span = nullptr;
    for (const KeySpan& span : spans) {
      ASSERT_LE(span.tiles, kSpanTiles);
      std::int32_t s = span.segment;
      std::int32_t key = span.first_key;
      for (std::int32_t t = 0; t < span.tiles; ++t, key += 64) {
        for (; key >= segments[static_cast<std::size_t>(s)].compute_end; key = 0) {
          ++s;
        }
        if (row < span.first_row || row >= span.end_row || found == seen.size() ||
            seen[found].segment != s || seen[found].first_key != key) {
          continue;
        }
        if (found > 0) {
          ASSERT_EQ(last_span == &span, seen[found - 1].span == seen[found].span);
        }
        last_span = &span;
        ++found;
      }
    }
    ASSERT_EQ(found, seen.size());
  }

  std::mt19937 random_{5};
  proto::ForwardPlan plan_ = {.sequences = {proto::PlanSequence()}};
  std::int32_t rows_ = 0;
  bool bidirectional_ = false;
};

TEST_F(KeySpansTest, AreCountedFromTheChainsFirstRow) {
  Add(SegmentKind::kPrefix, 2100);
  for (const std::int32_t row : {0, 63, 64, 1022, 1023, 1024, 1025, 2047, 2048, 2099}) {
    SCOPED_TRACE("row " + std::to_string(row));
    const std::vector<KeySpan> spans = SpansOf(row, row + 1);
    ASSERT_EQ(spans.size(), static_cast<std::size_t>(row / kSpanKeys + 1));
    for (std::int32_t i = 0; i < row / kSpanKeys; ++i) {
      ExpectSpan(spans[static_cast<std::size_t>(i)], 0, kSpanKeys * i, 16);
    }
    ExpectSpan(spans.back(), 0, row / kSpanKeys * kSpanKeys, row % kSpanKeys / 64 + 1);
  }
}

// Prefixes see each other whether they continue each other or not.
TEST_F(KeySpansTest, GoThroughPages) {
  for (int page = 0; page < 33; ++page) {
    Add(SegmentKind::kPrefix, 64, page % 2 == 1);
  }
  Add(SegmentKind::kSuffix, 64);
  Add(SegmentKind::kSuffix, 10, true);
  const std::vector<KeySpan> spans = SpansOf(33 * 64 + 70, 33 * 64 + 71);
  ASSERT_EQ(spans.size(), 4U);
  ExpectSpan(spans[0], 0, 0, 16);
  ExpectSpan(spans[1], 16, 0, 16);
  ExpectSpan(spans[2], 32, 0, 1);
  ExpectSpan(spans[3], 33, 0, 2);
}

TEST_F(KeySpansTest, NameTheRowsThatSeeThem) {
  Add(SegmentKind::kPrefix, 100);
  Add(SegmentKind::kBlock, 10);
  Add(SegmentKind::kBlock, 10);
  Add(SegmentKind::kSuffix, 4);
  std::vector<KeySpan> spans = SpansOf(95, 120);
  ASSERT_EQ(spans.size(), 3U);
  const std::int32_t expected[][2] = {{0, 25}, {5, 15}, {15, 25}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(spans[i].first_row, expected[i][0]);
    EXPECT_EQ(spans[i].end_row, expected[i][1]);
  }
  // Blocks that are weighed separately, and the rest.
  spans = SpansOf(120, 124, true);
  ASSERT_EQ(spans.size(), 2U);
  ExpectSpan(spans[0], 1, 0, 1);
  ExpectSpan(spans[1], 2, 0, 1);
  EXPECT_TRUE(spans[0].weighted);
  spans = SpansOf(120, 124);
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[3].segment, 3);
}

// The tiles that a row sees are divided into the same spans, whatever rows are attended together.
TEST_F(KeySpansTest, CompanyMovesNoSpan) {
  for (int round = 0; round < 60; ++round) {
    plan_ = {.sequences = {proto::PlanSequence()}};
    rows_ = 0;
    bidirectional_ = round % 3 == 0;
    AddRandom();
    RowMap map(rows_);
    map.Assign(plan_);
    const std::optional<std::int64_t> window =
        round % 2 == 0 ? std::nullopt : std::optional<std::int64_t>(RandomInt(random_, 1, 3000));
    for (int tile = 0; tile < 20; ++tile) {
      const std::int32_t first = RandomInt(random_, 0, rows_ - 1);
      const std::int32_t end = std::min(rows_, first + RandomInt(random_, 1, 24));
      const std::vector<KeySpan> spans = SpansOf(first, end, false, window);
      for (std::int32_t row = first; row < end; ++row) {
        SCOPED_TRACE("row " + std::to_string(row) + " in round " + std::to_string(round));
        const RowPlace& place = map.rows()[static_cast<std::size_t>(row)];
        ASSERT_NO_FATAL_FAILURE(ExpectSeenTiles(spans, row - first, SeenTiles(place, window)));
      }
    }
  }
}

// Rows see all keys of their own segment, or those less than a window away.
TEST_F(KeySpansTest, ReachToBothSides) {
  bidirectional_ = true;
  Add(SegmentKind::kPrefix, 2000);
  std::vector<KeySpan> spans = SpansOf(0, 24);
  ASSERT_EQ(spans.size(), 2U);
  ExpectSpan(spans[0], 0, 0, 16);
  ExpectSpan(spans[1], 0, 1024, 16);
  spans = SpansOf(1100, 1124, false, 65);  // From key 1036 to key 1187.
  ASSERT_EQ(spans.size(), 1U);
  ExpectSpan(spans[0], 0, 1024, 3);
  spans = SpansOf(1000, 1001, false, 65);  // From key 936 to key 1064.
  ASSERT_EQ(spans.size(), 2U);
  ExpectSpan(spans[0], 0, 896, 2);
  ExpectSpan(spans[1], 0, 1024, 1);
}

// A window leaves out tiles in front of it, and moves no limit.
TEST_F(KeySpansTest, WindowsMoveNoSpan) {
  Add(SegmentKind::kPrefix, 2000);
  std::vector<KeySpan> spans = SpansOf(1990, 1991, false, 1);
  ASSERT_EQ(spans.size(), 1U);
  ExpectSpan(spans[0], 0, 1984, 1);
  spans = SpansOf(1990, 1991, false, 1200);  // From key 791 on.
  ASSERT_EQ(spans.size(), 2U);
  ExpectSpan(spans[0], 0, 768, 4);
  ExpectSpan(spans[1], 0, 1024, 16);
  spans = SpansOf(1500, 1510, false, 1500);  // From key 1 on.
  ASSERT_EQ(spans.size(), 2U);
  ExpectSpan(spans[0], 0, 0, 16);
}

}  // namespace key_spans_test
}  // namespace scorecast::shard
