// A request's numbers have the same bits however its K/V is computed and stored: in one pass or
// several, in one piece or in pages, by another sequence, or copied.

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/mpi/engine_harness.h"
#include "tests/mpi/paged_plan.h"
#include "tests/mpi/random_sequence.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace engine_pages_test {

using proto::PackedSequence;
using proto::RowLogits;
using proto::SegmentKind;
using proto::TokenId;
using shard::Precision;

/// Index of the sequence's first segment of `kind` or of a later kind.
std::size_t FirstOf(const PackedSequence& sequence, SegmentKind kind) {
  const auto is_of_kind = [&](const proto::Segment& segment) { return segment.kind >= kind; };
  return static_cast<std::size_t>(std::ranges::find_if(sequence.segments, is_of_kind) -
                                  sequence.segments.begin());
}

/// Collects a sequence's results from several plans: [reads] on rank 0, empty on others.
class Collected {
 public:
  Collected(Engine& engine, const PackedSequence& sequence)
      : engine_(engine), rows_(engine.is_root() ? sequence.reads.size() : 0) {}

  void Run(const PagedSequence& paged, const std::vector<SegmentRows>& rows) {
    PlanMaker maker;
    const std::vector<std::size_t> reads = maker.Add(paged, rows);
    Take(reads, engine_.Run(maker.Take()));
  }
  void Take(const std::vector<std::size_t>& reads, const std::vector<RowLogits>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      rows_.at(reads.at(i)) = found[i];
    }
  }
  const std::vector<RowLogits>& rows() const { return rows_; }

 private:
  Engine& engine_;
  std::vector<RowLogits> rows_;
};

void ExpectSameBits(const std::vector<RowLogits>& a, const std::vector<RowLogits>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(SameBits(a[i], b[i])) << "read " << i;
  }
}

/// Every family in every precision. Windows are shorter than most sequences, so many rows see no
/// key of some pages.
class EnginePages : public ::testing::TestWithParam<std::tuple<Precision, std::string_view>> {
 protected:
  Precision precision() const { return std::get<0>(GetParam()); }
  std::string_view family() const { return std::get<1>(GetParam()); }
  /// One family has more sequences, to save time.
  int rounds() const { return family() == "qwen3" ? 4 : 2; }

  /// In even rounds the blocks have a weighting of their own.
  PackedSequence Sequence(int round) { return RandomSequence(random_, round % 2 == 0); }
  bool HasOnlyWindows() const {
    return std::ranges::all_of(engine_.config().layers, [](const proto::LayerConfig& layer) {
      return layer.sliding_window.has_value();
    });
  }
  ScatteredPages Free() { return {engine_.limits(), random_()}; }
  std::vector<RowLogits> Whole(const PackedSequence& sequence) {
    return RunWhole(engine_, sequence);
  }
  /// Segments [begin, end). Each but the first continues the one before it.
  struct Chain {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::int32_t Rows(const PackedSequence& sequence) const {
    return static_cast<std::int32_t>(sequence.rows());
  }

  const std::filesystem::path model_ = Family(std::get<1>(GetParam()));
  Engine engine_{model_, {.max_rows = 1024, .precision = precision()}};
  std::mt19937 random_{7};
};

TEST_P(EnginePages, PagesAndPassesChangeNothing) {
  for (int round = 0; round < rounds(); ++round) {
    const PackedSequence sequence = Sequence(round);
    const std::vector<RowLogits> expected = Whole(sequence);
    // One pass; a cut behind the prefix; another before the suffixes; cuts at random rows.
    const std::int32_t prefix_end = SegmentBegin(sequence, FirstOf(sequence, SegmentKind::kBlock));
    const std::int32_t blocks_end = SegmentBegin(sequence, FirstOf(sequence, SegmentKind::kSuffix));
    std::vector<std::int32_t> random_cuts;
    for (std::int32_t row = 0; row < Rows(sequence); row += RandomLength(random_, 1, 200)) {
      random_cuts.push_back(row);
    }
    for (std::vector<std::int32_t> cuts :
         {std::vector<std::int32_t>{}, {prefix_end}, {prefix_end, blocks_end}, random_cuts}) {
      ScatteredPages free = Free();
      const PagedSequence paged = InPages(sequence, free);
      Collected found(engine_, sequence);
      std::int32_t begin = 0;
      cuts.push_back(Rows(sequence));
      for (const std::int32_t end : cuts) {
        if (end > begin) {
          found.Run(paged, RowsBetween(sequence, begin, end));
          begin = end;
        }
      }
      ExpectSameBits(found.rows(), expected);
    }
  }
}

// Groups are computed one by one, the last one first, each by a plan without the others. Then the
// suffixes follow, again the last one first.
TEST_P(EnginePages, BlocksAreStoredInAnyOrder) {
  for (int round = 0; round < rounds(); ++round) {
    const PackedSequence sequence = Sequence(round);
    const std::vector<RowLogits> expected = Whole(sequence);
    ScatteredPages free = Free();
    const PagedSequence paged = InPages(sequence, free);
    const std::size_t segments = sequence.segments.size();
    const std::size_t suffixes = FirstOf(sequence, SegmentKind::kSuffix);
    Collected found(engine_, sequence);
    const auto length = [&](std::size_t s) { return sequence.segments[s].length; };
    // The last chain comes first, but all blocks come before any suffix.
    std::vector<Chain> chains;
    std::size_t chain_end = segments;
    for (std::size_t s = segments; s > FirstOf(sequence, SegmentKind::kBlock); --s) {
      if (!sequence.segments[s - 1].continues) {
        chains.push_back({s - 1, chain_end});
        chain_end = s - 1;
      }
    }
    std::ranges::stable_partition(chains,
                                  [&](const Chain& chain) { return chain.begin < suffixes; });
    const std::int32_t prefix = SegmentBegin(sequence, FirstOf(sequence, SegmentKind::kBlock));
    if (prefix > 0) {
      found.Run(paged, RowsBetween(sequence, 0, prefix));
    }
    for (const Chain& chain : chains) {
      std::vector<SegmentRows> rows(segments);
      for (std::size_t s = 0; s < segments; ++s) {
        const bool is_computed = chain.begin <= s && s < chain.end;
        const bool is_seen = sequence.segments[s].kind == SegmentKind::kPrefix ||
                             (chain.begin >= suffixes && s < suffixes);
        if (is_computed) {
          rows[s] = {0, 0, length(s)};
        } else if (is_seen) {
          rows[s] = {length(s), length(s), length(s)};
        }
      }
      found.Run(paged, rows);
    }
    ExpectSameBits(found.rows(), expected);
  }
}

TEST_P(EnginePages, RowByRowChangesNothing) {
  for (int round = 0; round < 2; ++round) {
    const PackedSequence sequence = Sequence(round);
    const std::vector<RowLogits> expected = Whole(sequence);
    ScatteredPages free = Free();
    const PagedSequence paged = InPages(sequence, free);
    Collected found(engine_, sequence);
    const std::size_t suffixes = FirstOf(sequence, SegmentKind::kSuffix);
    const std::int32_t suffix_begin = SegmentBegin(sequence, suffixes);
    if (suffix_begin > 0) {
      found.Run(paged, RowsBetween(sequence, 0, suffix_begin));
    }
    // Each plan computes the next row of every suffix that has one.
    std::vector<SegmentRows> rows = RowsBetween(sequence, suffix_begin, suffix_begin);
    for (std::int32_t row = 0;; ++row) {
      bool is_any_left = false;
      for (std::size_t s = suffixes; s < sequence.segments.size(); ++s) {
        const std::int32_t end = std::min(row + 1, sequence.segments[s].length);
        rows[s] = {std::min(row, end), std::min(row, end), end};
        is_any_left = is_any_left || end > row;
      }
      if (!is_any_left) {
        break;
      }
      found.Run(paged, rows);
    }
    ExpectSameBits(found.rows(), expected);
  }
}

// A sequence that begins like another one reads the other's pages, and a copy of the page in which
// they begin to differ. In odd rounds a plan without rows makes the copy.
TEST_P(EnginePages, CopiedPagesChangeNothing) {
  for (int round = 0; round < rounds(); ++round) {
    PackedSequence sequence = Sequence(round);
    const std::int32_t first = sequence.segments[0].length;
    const auto shared = static_cast<std::int32_t>(random_() % static_cast<unsigned>(first));
    PackedSequence other = sequence;
    for (std::int32_t row = shared; row < Rows(other); ++row) {
      TokenId& token = other.tokens[static_cast<std::size_t>(row)];
      token = (token + 1) % static_cast<TokenId>(kVocabSize);
    }
    const std::vector<RowLogits> expected = Whole(sequence);
    ScatteredPages free = Free();
    const PagedSequence paged_other = InPages(other, free);
    PagedSequence paged = InPages(sequence, free);
    const std::int32_t whole_pages = shared / proto::kKvPageRows;
    std::copy_n(paged_other.pages[0].begin(), whole_pages, paged.pages[0].begin());

    PlanMaker before;
    before.Add(paged_other, RowsBetween(other, 0, Rows(other)));
    engine_.Run(before.Take());
    PlanMaker maker;
    PlanMaker copies_only;
    const bool is_apart = round % 2 == 1;
    if (shared % proto::kKvPageRows > 0) {
      const auto page = static_cast<std::size_t>(whole_pages);
      (is_apart ? copies_only : maker)
          .AddCopy({paged_other.pages[0][page], paged.pages[0][page], shared % proto::kKvPageRows});
    }
    if (is_apart) {
      EXPECT_TRUE(engine_.Run(copies_only.Take()).empty());
    }
    const std::vector<std::size_t> reads =
        maker.Add(paged, RowsBetween(sequence, shared, Rows(sequence)));
    const std::vector<RowLogits> found = engine_.Run(maker.Take());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(SameBits(found[i], expected[reads[i]])) << "read " << reads[i];
    }
  }
}

// One sequence of a plan may read pages that another sequence of the same plan computes, in either
// order. Some rows of these pages are computed by both, but stored once.
TEST_P(EnginePages, SequencesOfAPlanReadEachOthersPages) {
  for (int round = 0; round < rounds(); ++round) {
    const PackedSequence sequence = Sequence(round);
    const std::vector<RowLogits> expected = Whole(sequence);
    ScatteredPages free = Free();
    const PagedSequence writer = InPages(sequence, free);
    PagedSequence reader = InPages(sequence, free);
    const std::size_t suffixes = FirstOf(sequence, SegmentKind::kSuffix);
    std::copy_n(writer.pages.begin(), suffixes, reader.pages.begin());
    std::vector<SegmentRows> rows =
        RowsBetween(sequence, SegmentBegin(sequence, suffixes), Rows(sequence));
    for (std::size_t s = 0; s < suffixes; ++s) {
      // Some rows are computed again.
      const std::int32_t length = sequence.segments[s].length;
      const auto again = static_cast<std::int32_t>(random_() % static_cast<unsigned>(length + 1));
      rows[s] = {length - again, length, length};
    }
    for (const bool reader_is_first : {true, false}) {
      PlanMaker maker;
      std::vector<std::size_t> reads;
      for (const bool is_reader : {reader_is_first, !reader_is_first}) {
        const std::vector<std::size_t> more =
            is_reader ? maker.Add(reader, rows)
                      : maker.Add(writer, RowsBetween(sequence, 0, Rows(sequence)));
        reads.insert(reads.end(), more.begin(), more.end());
      }
      const std::vector<RowLogits> found = engine_.Run(maker.Take());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_TRUE(SameBits(found[i], expected[reads[i]])) << "read " << reads[i];
      }
    }
  }
}

// Rows that the plan marks as stored are not written, even if they are computed.
TEST_P(EnginePages, StoredRowsAreNotWritten) {
  for (int round = 0; round < rounds(); ++round) {
    const PackedSequence sequence = Sequence(round);
    const std::vector<RowLogits> expected = Whole(sequence);
    ScatteredPages free = Free();
    PagedSequence paged = InPages(sequence, free);
    PlanMaker before;
    before.Add(paged, RowsBetween(sequence, 0, Rows(sequence)));
    engine_.Run(before.Take());
    // Change the tokens of all rows except the last row of each suffix.
    std::vector<SegmentRows> rows;
    std::int32_t row = 0;
    for (const proto::Segment& segment : sequence.segments) {
      const bool is_suffix = segment.kind == SegmentKind::kSuffix;
      rows.push_back({0, segment.length - (is_suffix ? 1 : 0), segment.length});
      for (const std::int32_t end = row + rows.back().stored; row < end; ++row) {
        TokenId& token = paged.sequence.tokens[static_cast<std::size_t>(row)];
        token = (token + 1) % static_cast<TokenId>(kVocabSize);
      }
      row += is_suffix ? 1 : 0;
    }
    PlanMaker maker;
    const std::vector<std::size_t> reads = maker.Add(paged, rows);
    const std::vector<RowLogits> found = engine_.Run(maker.Take());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t read = reads[i];
      const auto at = static_cast<std::size_t>(sequence.reads[read].row);
      const bool is_same = paged.sequence.tokens[at] == sequence.tokens[at];
      EXPECT_EQ(SameBits(found[i], expected[read]), is_same) << "read " << read;
    }
  }
}

// If a chunk is replaced, the other chunks' logits stay the same, and so does their K/V, which the
// next plan reads.
TEST_P(EnginePages, AChangedChunkChangesNoOther) {
  for (int round = 0; round < rounds(); ++round) {
    const auto tokens = [&](std::uint64_t seed, std::size_t count) {
      return reference::RandomTokens(seed, count, kVocabSize);
    };
    std::vector<std::vector<std::vector<TokenId>>> groups = {
        {tokens(1, 70)}, {tokens(2, 30), tokens(3, 65)}, {tokens(4, 64)}};
    const auto sequence_of = [&] {
      PackedSequence sequence =
          Pack(reference::LayOutGroups(tokens(8, 20), groups, {tokens(9, 7)}),
               round % 2 == 0 ? proto::BlockWeighting{} : proto::BlockWeighting{0.8F, 0.9F});
      sequence.label_lists = {{3, 7, 300}};
      std::int32_t rows = 0;
      for (const proto::Segment& segment : sequence.segments) {
        rows += segment.length;
        sequence.reads.push_back({rows - 1, 0, true, 4});
      }
      return sequence;
    };
    // Segment 0 is the prefix, 1 … 4 are four chunks in three groups, and 5 is the suffix. The
    // changed chunk affects the rest of its group and the suffix.
    const auto changed_segment = static_cast<std::size_t>(1 + round % 4);
    const PackedSequence old = sequence_of();
    std::vector<TokenId>* const chunks[] = {&groups[0][0], &groups[1][0], &groups[1][1],
                                            &groups[2][0]};
    std::vector<TokenId>& chunk = *chunks[changed_segment - 1];
    chunk = tokens(77, chunk.size());
    const PackedSequence changed = sequence_of();
    const std::size_t last_changed = changed_segment == 2 ? 3 : changed_segment;
    const auto sees_it = [&](std::size_t segment) {
      return (changed_segment <= segment && segment <= last_changed) ||
             segment + 1 == old.segments.size();
    };

    const std::vector<RowLogits> expected = Whole(changed);
    ScatteredPages free = Free();
    const PagedSequence paged_old = InPages(old, free);
    Collected before(engine_, old);
    before.Run(paged_old, RowsBetween(old, 0, Rows(old)));
    PagedSequence paged = InPages(changed, free);
    std::vector<SegmentRows> rows;
    for (std::size_t s = 0; s < changed.segments.size(); ++s) {
      const std::int32_t length = changed.segments[s].length;
      const std::int32_t stored = sees_it(s) ? 0 : length;
      rows.push_back({stored, stored, length});
      if (!sees_it(s)) {
        paged.pages[s] = paged_old.pages[s];
      }
      // If every layer has a window, all windows may end behind the changed chunk.
      if (engine_.is_root() && !(sees_it(s) && HasOnlyWindows())) {
        EXPECT_EQ(SameBits(before.rows()[s], expected[s]), !sees_it(s)) << "segment " << s;
      }
    }
    PlanMaker maker;
    const std::vector<std::size_t> reads = maker.Add(paged, rows);
    const std::vector<RowLogits> found = engine_.Run(maker.Take());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(SameBits(found[i], expected[reads[i]])) << "read " << reads[i];
    }
  }
}

TEST_P(EnginePages, ThreadsAndOtherSequencesChangeNothing) {
  const PackedSequence sequence = Sequence(0);
  const PackedSequence before = Sequence(1);
  const std::vector<RowLogits> expected = Whole(sequence);
  for (const int threads : {1, 2, 3}) {
    Engine other(model_, {.threads = threads, .max_rows = 2048, .precision = precision()});
    ScatteredPages free(other.limits(), random_());
    const PagedSequence paged = InPages(sequence, free);
    PlanMaker maker;
    maker.AddWhole(before);
    maker.Add(paged, RowsBetween(sequence, 0, Rows(sequence)));
    std::vector<RowLogits> found = other.Run(maker.Take());
    if (engine_.is_root()) {
      found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(before.reads.size()));
      ExpectSameBits(found, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EnginePages,
                         ::testing::Combine(::testing::Values(Precision::kFloat32,
                                                              Precision::kBfloat16,
                                                              Precision::kInt8),
                                            ::testing::ValuesIn(reference::kEachFamily)),
                         [](const auto& test) {
                           return PrecisionAndFamily(std::get<0>(test.param),
                                                     std::get<1>(test.param));
                         });

}  // namespace engine_pages_test
}  // namespace scorecast::testing
