// Rows with many keys have the bits of a plain reduction in order, however their spans are
// distributed.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/shard/attention/attention_passes.h"

namespace scorecast::shard {
namespace span_company_test {

using proto::SegmentKind;
using testing::RandomInt;

class SpanCompany : public SegmentAttentionTest {
 protected:
  Sequence SequenceOf(std::vector<proto::Segment> segments) {
    Sequence sequence;
    sequence.segments = std::move(segments);
    sequence.kept = RandomInt(random_, 0, 1) == 0;
    GivePlaces(sequence);
    std::int32_t rows = 0;
    for (const proto::Segment& segment : sequence.segments) {
      rows += segment.length;
    }
    sequence.queries = RandomHeads(rows, GetParam().query, 2);
    sequence.keys = RandomHeads(rows, GetParam().kv, 2);
    sequence.values = RandomHeads(rows, GetParam().kv, 1);
    return sequence;
  }
};

// The keys end just in front of, at and just behind the end of a span.
TEST_P(SpanCompany, LimitsOfSpansAreThoseOfTheDenseMask) {
  for (const std::int32_t length : {1022, 2049}) {
    SCOPED_TRACE("prefix of " + std::to_string(length));
    const Sequence sequence =
        SequenceOf({{SegmentKind::kPrefix, length, 0}, {SegmentKind::kSuffix, 3, length}});
    for (const std::int64_t window : {0, 200, 1025}) {
      window_ = window == 0 ? std::nullopt : std::optional(window);
      const Part part = {&sequence, length - 4, sequence.rows()};
      const Outputs outputs = Forward(1, 4, std::vector<Part>{part});
      ASSERT_NO_FATAL_FAILURE(ExpectDense(part, 0, outputs));
    }
  }
}

TEST_P(SpanCompany, ThreadsAndCompanyChangeNoBits) {
  const Sequence other = RandomSequence(false);
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    window_ =
        round % 2 == 0 ? std::nullopt : std::optional<std::int64_t>(RandomInt(random_, 1, 3000));
    softcap_ = round == 3 ? std::optional(5.0) : std::nullopt;
    const std::int32_t prefix = RandomInt(random_, 2000, 3200);
    const std::int32_t blocks[] = {RandomInt(random_, 1000, 1200), RandomInt(random_, 1, 100)};
    Sequence sequence = SequenceOf({{SegmentKind::kPrefix, prefix, 0},
                                    {SegmentKind::kBlock, blocks[0], prefix},
                                    {SegmentKind::kBlock, blocks[1], prefix},
                                    {SegmentKind::kSuffix, 30, prefix + blocks[0]}});
    if (round >= 2) {
      sequence.weighting = {0.6F, 1.7F};
    }
    const std::int32_t rows = sequence.rows();
    const std::int32_t begin = rows - 45;
    const Outputs expected = Forward(1, 1, std::vector<Part>{{&sequence, begin, rows}});
    ASSERT_NO_FATAL_FAILURE(ExpectDense({&sequence, rows - 2, rows}, 43, expected));
    const Sequence in_pages = InPages(sequence);
    for (int threads = 1; threads <= 8; ++threads) {
      SCOPED_TRACE("threads " + std::to_string(threads));
      // A few rows, with other rows in front of them or without.
      const std::int32_t first = RandomInt(random_, begin, rows - 1);
      const std::int32_t end = RandomInt(random_, first + 1, std::min(rows, first + 3));
      std::vector<Part> parts = {{threads % 2 == 0 ? &sequence : &in_pages, first, end}};
      if (threads % 3 == 0) {
        parts.insert(parts.begin(), {&other, 0, RandomInt(random_, 1, 30) % other.rows() + 1});
      }
      const std::int32_t others = parts.size() == 1 ? 0 : parts[0].end;
      Outputs outputs = Forward(1 + threads % 2, threads, parts);
      outputs.erase(outputs.begin(), outputs.begin() + others);
      ExpectSameBits(outputs,
                     Outputs(expected.begin() + (first - begin), expected.begin() + (end - begin)));
    }
  }
}

// Chains of several segments that end anywhere in a page, and so many rows that the threads' room
// for sums takes only some spans at a time.
TEST_P(SpanCompany, ChainsInSeveralRounds) {
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    window_ =
        round == 1 ? std::optional<std::int64_t>(RandomInt(random_, 1000, 3000)) : std::nullopt;
    const std::int32_t prefixes[] = {RandomInt(random_, 1, 900), RandomInt(random_, 2200, 2500)};
    const std::int32_t prefix = prefixes[0] + prefixes[1];
    const std::int32_t chunks[] = {RandomInt(random_, 900, 1000), RandomInt(random_, 100, 300)};
    const std::int32_t rest = prefix + chunks[0] + chunks[1];
    Sequence sequence = SequenceOf({{SegmentKind::kPrefix, prefixes[0], 0},
                                    {SegmentKind::kPrefix, prefixes[1], prefixes[0]},
                                    {SegmentKind::kBlock, chunks[0], prefix},
                                    {SegmentKind::kBlock, chunks[1], prefix + chunks[0], true},
                                    {SegmentKind::kBlock, 70, prefix},
                                    {SegmentKind::kSuffix, 20, rest},
                                    {SegmentKind::kSuffix, 30, rest + 20, true}});
    if (round == 2) {
      sequence.weighting = {0.6F, 1.7F};
    }
    const Sequence in_pages = InPages(sequence);
    const Sequence small = SequenceOf({{SegmentKind::kPrefix, 24, 0}});
    const std::int32_t rows = sequence.rows();
    const std::int32_t begin = rows - 130;
    const Outputs expected = Forward(1, 1, std::vector<Part>{{&sequence, begin, rows}});
    ASSERT_NO_FATAL_FAILURE(ExpectDense({&sequence, rows - 1, rows}, 129, expected));
    for (const int threads : {2, 3, 5}) {
      SCOPED_TRACE("threads " + std::to_string(threads));
      for (const std::int32_t first : {begin, rows - 24, rows - 7}) {
        const std::int32_t end = std::min(rows, first + 24);
        Outputs outputs =
            Forward((threads + 1) / 2, threads,
                    std::vector<Part>{{&small, 0, 24},
                                      {first == begin ? &sequence : &in_pages, first, end}});
        outputs.erase(outputs.begin(), outputs.begin() + 24);
        ExpectSameBits(
            outputs, Outputs(expected.begin() + (first - begin), expected.begin() + (end - begin)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, SpanCompany,
                         ::testing::Values(Heads{6, 2, 8, {false}}, Heads{6, 2, 8, {true}},
                                           Heads{8, 1, 80, {true}}, Heads{4, 4, 24, {false}}),
                         ::testing::PrintToStringParamName());

}  // namespace span_company_test
}  // namespace scorecast::shard
