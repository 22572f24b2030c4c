#include "shard/attention/key_spans.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "shard/attention/row_map.h"

namespace scorecast::shard {
namespace {

using proto::PlanSegment;
using proto::SegmentKind;

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
    FindSpans({plan_.sequences[0], places, window, weighted ? 0 : end - first}, weighted, spans);
    return spans;
  }

  static void ExpectSpan(const KeySpan& span, std::int32_t segment, std::int32_t first_key,
                         std::int32_t tiles) {
    EXPECT_EQ(span.segment, segment);
    EXPECT_EQ(span.first_key, first_key);
    EXPECT_EQ(span.tiles, tiles);
  }

  proto::ForwardPlan plan_ = {.sequences = {proto::PlanSequence()}};
  std::int32_t rows_ = 0;
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

}  // namespace
}  // namespace scorecast::shard
