// Attention over random plans, compared with a dense computation in float64 with the reference's
// mask.

#include "shard/attention/segment_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/shard/attention/attention_passes.h"
#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace segment_attention_test {

using proto::SegmentKind;
using testing::RandomInt;
using testing::SameBits;

TEST_P(SegmentAttentionTest, AgreesWithDenseMask) {
  for (int round = 0; round < 4; ++round) {
    std::vector<Sequence> sequences;
    for (int n = RandomInt(random_, 1, 3); n > 0; --n) {
      sequences.push_back(RandomSequence(RandomInt(random_, 0, 1) == 0));
    }
    std::vector<Part> parts;
    for (const Sequence& sequence : sequences) {
      const std::int32_t begin = RandomInt(random_, 0, sequence.rows() - 1);
      parts.push_back({&sequence, RandomInt(random_, 0, 1) == 0 ? 0 : begin,
                       RandomInt(random_, begin + 1, sequence.rows())});
    }
    const Outputs outputs = Forward(1, 2, parts);
    std::size_t first = 0;
    for (const Part& part : parts) {
      ExpectDense(part, first, outputs);
      first += static_cast<std::size_t>(part.end - part.begin);
    }
  }
}

// Positions continue from segment to segment, overlap or leave gaps. Windows have from one row to
// more rows than there are. Ranks, parts and pages change no bit.
TEST_P(SegmentAttentionTest, WindowsAreThoseOfTheDenseMask) {
  for (const std::int64_t window : {1, 5, 63, 64, 65, 130, 1000}) {
    SCOPED_TRACE("window " + std::to_string(window));
    window_ = window;
    Sequence sequence = RandomSequence(window % 2 == 0);
    std::int32_t position = 0;
    for (proto::Segment& segment : sequence.segments) {
      segment.first_position = std::max(0, position + RandomInt(random_, -40, 40));
      position = segment.first_position + segment.length;
    }
    const std::vector<Part> whole = {{&sequence, 0, sequence.rows()}};
    const Outputs outputs = Forward(1, 2, whole);
    ASSERT_NO_FATAL_FAILURE(ExpectDense(whole[0], 0, outputs));
    ExpectSameBits(Forward(2, 1, whole), outputs);
    const std::int32_t cut = RandomInt(random_, 1, std::max(1, sequence.rows() - 1));
    Outputs in_parts = Forward(1, 1, std::vector<Part>{{&sequence, 0, cut}});
    const Outputs rest = Forward(1, 1, std::vector<Part>{{&sequence, cut, sequence.rows()}});
    in_parts.insert(in_parts.end(), rest.begin(), rest.end());
    ExpectSameBits(in_parts, outputs);
    const Sequence in_pages = InPages(sequence);
    ExpectSameBits(Forward(1, 1, std::vector<Part>{{&in_pages, 0, sequence.rows()}}), outputs);
  }
}

// A row sees every row of its own segment, or those less than a window away to both sides. Ranks,
// threads, company and the rows that are computed change no bit.
TEST_P(SegmentAttentionTest, RowsSeeBothSides) {
  bidirectional_ = true;
  for (const std::int64_t window : {0, 9, 65, 1000}) {
    SCOPED_TRACE("window " + std::to_string(window));
    window_ = window == 0 ? std::nullopt : std::optional(window);
    const Sequence text = RandomText(RandomInt(random_, 1, 2) * 64 + RandomInt(random_, -1, 1));
    const Sequence other = RandomText(RandomInt(random_, 1, 70));
    const std::vector<Part> parts = {{&other, 0, other.rows()}, {&text, 0, text.rows()}};
    const Outputs outputs = Forward(1, 2, parts);
    std::size_t first = 0;
    for (const Part& part : parts) {
      ASSERT_NO_FATAL_FAILURE(ExpectDense(part, first, outputs));
      first += static_cast<std::size_t>(part.end);
    }
    const auto begin = outputs.begin() + other.rows();
    const Outputs expected(begin, begin + text.rows());
    const std::vector<Part> alone = {{&text, 0, text.rows()}};
    ExpectSameBits(Forward(2, 3, alone), expected);
    const std::vector<std::int32_t> selected = {0, text.rows() / 2, text.rows() - 1};
    Outputs of_selected;
    for (const std::int32_t row : selected) {
      of_selected.push_back(expected[static_cast<std::size_t>(row)]);
    }
    ExpectSameBits(Forward(1, 3, alone, selected), of_selected);
  }
}

// A text of several spans, whole tiles to a thread and spans to a thread.
TEST_P(SegmentAttentionTest, LongTextsThatSeeBothSides) {
  bidirectional_ = true;
  for (const std::int64_t window : {0, 300}) {
    window_ = window == 0 ? std::nullopt : std::optional(window);
    const Sequence text = RandomText(1100);
    const std::vector<Part> alone = {{&text, 0, text.rows()}};
    const Outputs expected = Forward(1, 1, alone);
    const std::vector<std::int32_t> selected = {1, 500, 1030};
    Outputs of_selected;
    for (const std::int32_t row : selected) {
      of_selected.push_back(expected[static_cast<std::size_t>(row)]);
    }
    ExpectSameBits(Forward(1, 3, alone, selected), of_selected);
  }
}

// With Gemma 2's options, windows too. Ranks, parts and pages change no bit.
TEST_P(SegmentAttentionTest, SoftCappedScoresWithAScaleOfTheirOwn) {
  query_scale_ = 0.3;
  for (const double softcap : {0.7, 5.0, 50.0}) {
    SCOPED_TRACE("soft-cap " + std::to_string(softcap));
    softcap_ = softcap;
    if (softcap > 1) {
      window_ = RandomInt(random_, 1, 200);
    }
    Sequence sequence = RandomSequence(softcap > 10);
    sequence.weighting = {0.6F, 1.7F};
    const std::vector<Part> whole = {{&sequence, 0, sequence.rows()}};
    const Outputs outputs = Forward(1, 2, whole);
    ASSERT_NO_FATAL_FAILURE(ExpectDense(whole[0], 0, outputs));
    ExpectSameBits(Forward(2, 1, whole), outputs);
    const std::int32_t cut = RandomInt(random_, 1, std::max(1, sequence.rows() - 1));
    Outputs in_parts = Forward(1, 1, std::vector<Part>{{&sequence, 0, cut}});
    const Outputs rest = Forward(1, 1, std::vector<Part>{{&sequence, cut, sequence.rows()}});
    in_parts.insert(in_parts.end(), rest.begin(), rest.end());
    ExpectSameBits(in_parts, outputs);
    const Sequence in_pages = InPages(sequence);
    ExpectSameBits(Forward(1, 1, std::vector<Part>{{&in_pages, 0, sequence.rows()}}), outputs);
  }
}

// Pages that lie outside of every row's window are not read: they may be missing from the plan, or
// hold anything, and no bit changes.
TEST_P(SegmentAttentionTest, PagesOutsideOfTheWindowAreNotRead) {
  for (const std::int64_t window : {1, 40, 64, 100}) {
    SCOPED_TRACE("window " + std::to_string(window));
    window_ = window;
    Sequence sequence;
    sequence.segments = {{SegmentKind::kPrefix, 64, 0, false},
                         {SegmentKind::kPrefix, 64, 64, true},
                         {SegmentKind::kPrefix, 64, 128, true},
                         {SegmentKind::kBlock, 30, 192, false},
                         {SegmentKind::kSuffix, 9, 222, false}};
    GivePlaces(sequence);
    constexpr std::int32_t kRows = 231;
    sequence.queries = RandomHeads(kRows, GetParam().query, 1);
    sequence.keys = RandomHeads(kRows, GetParam().kv, 1);
    sequence.values = RandomHeads(kRows, GetParam().kv, 1);
    // Rows from 192 on see nothing at or below 192 - window: the first page in every case.
    const Outputs expected = Forward(1, 1, std::vector<Part>{{&sequence, 192, kRows}});
    ASSERT_NO_FATAL_FAILURE(ExpectDense({&sequence, 192, kRows}, 0, expected));
    const std::size_t pages_outside = window == 100 ? 1 : window > 1 ? 2 : 3;
    for (std::size_t row = 0; row < 64 * pages_outside; ++row) {
      for (auto* heads : {&sequence.keys[row], &sequence.values[row]}) {
        for (std::vector<float>& head : *heads) {
          head.assign(head.size(), kNotANumber);
        }
      }
    }
    ExpectSameBits(Forward(1, 1, std::vector<Part>{{&sequence, 192, kRows}}), expected);
  }
}

// Heads are split over every number of ranks, some of which share a K/V head, with several numbers
// of threads.
TEST_P(SegmentAttentionTest, RanksAndThreadsChangeNoBits) {
  const std::vector<Sequence> sequences = {RandomSequence(true), RandomSequence(false)};
  const std::vector<Part> parts = {{&sequences[0], 0, sequences[0].rows()},
                                   {&sequences[1], 0, sequences[1].rows()}};
  const Outputs expected = Forward(1, 1, parts);
  for (int ranks = 1; ranks <= GetParam().query; ++ranks) {
    ExpectSameBits(Forward(ranks, 1 + ranks % 3, parts), expected);
  }
  ExpectSameBits(Forward(1, 3, parts), expected);
}

// One pass that computes all rows, and several passes that each compute some.
TEST_P(SegmentAttentionTest, PartsChangeNoBits) {
  const Sequence sequence = RandomSequence(true);
  const Sequence other = RandomSequence(false);
  const std::vector<Part> whole = {{&sequence, 0, sequence.rows()}};
  const Outputs expected = Forward(1, 2, whole);
  for (int round = 0; round < 3; ++round) {
    Outputs in_parts;
    std::int32_t begin = 0;
    while (begin < sequence.rows()) {
      const std::int32_t end =
          std::min(sequence.rows(), begin + RandomInt(random_, 1, round == 0 ? 20 : 200));
      const std::vector<Part> parts = {{&other, 0, RandomInt(random_, 1, other.rows())},
                                       {&sequence, begin, end}};
      const Outputs outputs = Forward(1, 2, parts);
      in_parts.insert(in_parts.end(), outputs.begin() + parts[0].end, outputs.end());
      begin = end;
    }
    ExpectSameBits(in_parts, expected);
  }
}

// The same segments whole and in pages.
TEST_P(SegmentAttentionTest, PagesChangeNoBits) {
  for (int round = 0; round < 3; ++round) {
    const Sequence sequence = RandomSequence(round % 2 == 0);
    const Sequence in_pages = InPages(sequence);
    const Sequence other = RandomSequence(false);
    const std::vector<Part> whole = {{&sequence, 0, sequence.rows()}};
    const std::vector<Part> paged = {{&other, 0, RandomInt(random_, 1, other.rows())},
                                     {&in_pages, 0, sequence.rows()}};
    Outputs outputs = Forward(1, 2, paged);
    outputs.erase(outputs.begin(), outputs.begin() + paged[0].end);
    ExpectSameBits(outputs, Forward(1, 1, whole));
  }
}

// Only some rows of a pass, as in the last layer.
TEST_P(SegmentAttentionTest, OtherRowsChangeNoBits) {
  const std::vector<Sequence> sequences = {RandomSequence(true), RandomSequence(false)};
  const std::vector<Part> parts = {{&sequences[0], 0, sequences[0].rows()},
                                   {&sequences[1], 0, sequences[1].rows()}};
  const Outputs all = Forward(1, 1, parts);
  for (const int one_in : {2, 20, 100}) {
    std::vector<std::int32_t> selected = {static_cast<std::int32_t>(all.size()) - 1};
    Outputs expected = {all.back()};
    for (std::int32_t row = selected.front() - 1; row >= 0; --row) {
      if (RandomInt(random_, 1, one_in) == 1) {
        selected.insert(selected.begin(), row);
        expected.insert(expected.begin(), all[static_cast<std::size_t>(row)]);
      }
    }
    ExpectSameBits(Forward(2, 2, parts, selected), expected);
  }
}

// Blocks do not see each other, so a block with NaN affects only itself and the suffixes, which see
// it. If there is a suffix, only the block's keys are NaN: NaN values may also reach rows between
// the block and the suffix, which is acceptable because they belong to the same request.
TEST_P(SegmentAttentionTest, BrokenBlockAffectsNoOther) {
  for (const bool has_suffix : {false, true}) {
    Sequence sequence;
    sequence.segments = {{SegmentKind::kPrefix, 20, 0},
                         {SegmentKind::kBlock, 5, 0},
                         {SegmentKind::kBlock, 9, 0},
                         {SegmentKind::kBlock, 3, 0}};
    if (has_suffix) {
      sequence.segments.push_back({SegmentKind::kSuffix, 4, 0});
    }
    const std::int32_t rows = has_suffix ? 41 : 37;
    sequence.places = {0, 32, 48, 64, 80};
    pass_rows_ = 96;
    sequence.queries = RandomHeads(rows, GetParam().query, 1);
    sequence.keys = RandomHeads(rows, GetParam().kv, 1);
    sequence.values = RandomHeads(rows, GetParam().kv, 1);
    const std::vector<Part> parts = {{&sequence, 0, rows}};
    const Outputs expected = Forward(1, 1, parts);
    for (std::size_t row = 25; row < 34; ++row) {
      for (auto* heads : {&sequence.keys[row], &sequence.values[row]}) {
        const bool is_value = heads == &sequence.values[row];
        for (std::vector<float>& head : *heads) {
          head.assign(head.size(), is_value && has_suffix ? 1.0F : kNotANumber);
        }
      }
    }
    const Outputs found = Forward(1, 1, parts);
    for (std::size_t row = 0; row < found.size(); ++row) {
      const bool sees_it = (row >= 25 && row < 34) || row >= 37;
      for (std::size_t head = 0; head < found[row].size(); ++head) {
        if (sees_it) {
          EXPECT_TRUE(std::isnan(found[row][head][0])) << "row " << row;
        } else {
          EXPECT_TRUE(SameBits(found[row][head], expected[row][head])) << "row " << row;
        }
      }
    }
  }
}

std::vector<Heads> AllHeads() {
  std::vector<Heads> all;
  for (const bool is_bf16 : {false, true}) {
    for (const Heads& heads : {Heads{6, 2, 8}, Heads{9, 3, 16}, Heads{8, 1, 80}, Heads{4, 4, 128},
                               Heads{5, 1, 6}, Heads{4, 2, 24}}) {
      all.push_back({heads.query, heads.kv, heads.head_dim, {is_bf16}});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Heads, SegmentAttentionTest, ::testing::ValuesIn(AllHeads()),
                         ::testing::PrintToStringParamName());

}  // namespace segment_attention_test
}  // namespace scorecast::shard
