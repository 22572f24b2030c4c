// A request's numbers have the same bits whatever else is computed, and for any passes, buckets,
// threads and transports.

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/mpi/engine_harness.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace engine_bits_test {

using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;
using shard::Precision;

constexpr std::int64_t kVocabSize = 320;
const std::vector<TokenId> kLabels = {3, 7, 300};

std::vector<TokenId> Tokens(std::uint64_t seed, std::size_t count) {
  return reference::RandomTokens(seed, count, kVocabSize);
}

std::vector<std::vector<TokenId>> SomeItems() {
  std::vector<std::vector<TokenId>> items;
  for (const std::size_t length : {3U, 1U, 17U, 0U, 64U, 5U, 65U}) {
    items.push_back(Tokens(100 + items.size(), length));
  }
  return items;
}

/// Reads labels, the best tokens, and a token's rank.
PackedSequence SequenceOf(const std::vector<TokenId>& query,
                          const std::vector<std::vector<TokenId>>& items,
                          const std::vector<TokenId>& labels = kLabels) {
  PackedSequence sequence = ItemsSequence(query, items, labels, /*top_k=*/4);
  for (proto::RowRead& read : sequence.reads) {
    read.target = labels.back();
    read.ranks_target = true;
  }
  return sequence;
}

void ExpectSameBits(const std::vector<RowLogits>& a, const std::vector<RowLogits>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(SameBits(a[i], b[i])) << "read " << i;
  }
}

/// Every family in every precision. Windows are shorter than the query.
class EngineBits : public ::testing::TestWithParam<std::tuple<Precision, std::string_view>> {
 protected:
  Precision precision() const { return std::get<0>(GetParam()); }

  const std::filesystem::path model_ = std::filesystem::path(reference::kTestsDirectory) /
                                       "golden/families" / std::get<1>(GetParam());
  Engine engine_{model_, {.precision = precision()}};
  std::vector<TokenId> query_ = Tokens(1, 70);
  std::vector<std::vector<TokenId>> items_ = SomeItems();

  std::vector<RowLogits> Score(const std::vector<std::vector<TokenId>>& items) {
    auto results = engine_.RunTogether({SequenceOf(query_, items)});
    return results.empty() ? std::vector<RowLogits>{} : std::move(results[0]);
  }
};

TEST_P(EngineBits, RunsAreEqual) { ExpectSameBits(Score(items_), Score(items_)); }

TEST_P(EngineBits, OtherItemsChangeNothing) {
  const std::vector<RowLogits> expected = Score(items_);
  const auto read_of = [](std::size_t item) { return item + 1; };
  for (std::size_t item = 0; item < items_.size(); ++item) {
    // The item alone; with every other item changed; with an item added before.
    const std::vector<RowLogits> alone = Score({items_[item]});
    std::vector<std::vector<TokenId>> changed = items_;
    for (std::size_t other = 0; other < changed.size(); ++other) {
      if (other != item) {
        changed[other] = Tokens(500 + other, changed[other].size() + 1);
      }
    }
    const std::vector<RowLogits> beside_changed = Score(changed);
    std::vector<std::vector<TokenId>> more = items_;
    more.insert(more.begin(), Tokens(900, 33));
    const std::vector<RowLogits> beside_more = Score(more);
    if (!engine_.is_root()) {
      continue;
    }
    EXPECT_TRUE(SameBits(alone[read_of(0)], expected[read_of(item)])) << "item " << item;
    EXPECT_TRUE(SameBits(beside_changed[read_of(item)], expected[read_of(item)]));
    EXPECT_TRUE(SameBits(beside_more[read_of(item + 1)], expected[read_of(item)]));
    for (std::size_t other = 0; other < items_.size(); ++other) {
      if (other != item && !items_[other].empty()) {
        EXPECT_FALSE(SameBits(beside_changed[read_of(other)], expected[read_of(other)]))
            << "scores of a changed item must change";
      }
    }
  }
}

TEST_P(EngineBits, OrderOfItemsChangesNothing) {
  const std::vector<RowLogits> expected = Score(items_);
  std::vector<std::size_t> order(items_.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::vector<TokenId>> permuted;
    for (const std::size_t item : order) {
      permuted.push_back(items_[item]);
    }
    const std::vector<RowLogits> found = Score(permuted);
    for (std::size_t i = 0; i < order.size() && engine_.is_root(); ++i) {
      EXPECT_TRUE(SameBits(found[i + 1], expected[order[i] + 1]));
    }
  }
}

TEST_P(EngineBits, OtherRequestsChangeNothing) {
  const PackedSequence sequence = SequenceOf(query_, items_);
  const std::vector<RowLogits> expected = Score(items_);
  for (std::size_t length = 1; length < 200; length += 27) {
    const PackedSequence before = ItemsSequence(Tokens(length, length), {}, {9});
    const PackedSequence after = ItemsSequence(Tokens(length + 1, 7), {Tokens(2, 3)}, {4, 5});
    const auto results = engine_.RunTogether({before, sequence, after});
    if (engine_.is_root()) {
      ExpectSameBits(results[1], expected);
    }
  }
}

// Keys and values are kept between the passes. Passes end anywhere in a segment.
TEST_P(EngineBits, SeveralPassesChangeNothing) {
  const PackedSequence sequence = SequenceOf(query_, items_);
  const std::vector<RowLogits> expected = Score(items_);
  for (const std::int32_t max_rows : {7, 16, 63, 64, 100}) {
    Engine small(model_, {.max_rows = max_rows, .precision = precision()});
    ExpectSameBits(small.RunInParts(sequence), expected);
  }
}

TEST_P(EngineBits, PassesOfOneRowChangeNothing) {
  const PackedSequence sequence =
      SequenceOf(Tokens(1, 17), {Tokens(2, 3), Tokens(3, 1), Tokens(4, 2)});
  Engine small(model_, {.max_rows = 1, .precision = precision()});
  const std::vector<RowLogits> in_parts = small.RunInParts(sequence);
  const auto expected = engine_.RunTogether({sequence});
  if (engine_.is_root()) {
    ExpectSameBits(in_parts, expected[0]);
  }
}

// The last layer computes only the rows that are read.
TEST_P(EngineBits, OtherReadsChangeNothing) {
  PackedSequence sequence = SequenceOf(query_, items_);
  const std::vector<RowLogits> expected = Score(items_);
  const std::vector<proto::RowRead> reads = sequence.reads;
  for (std::size_t read = 0; read < reads.size(); ++read) {
    sequence.reads = {reads[read]};
    const auto alone = engine_.RunTogether({sequence});
    if (engine_.is_root()) {
      EXPECT_TRUE(SameBits(alone[0][0], expected[read])) << "read " << read;
    }
  }
  sequence.reads.clear();
  for (std::int32_t row = 0; row < sequence.rows(); ++row) {
    sequence.reads.emplace_back(reads.front()).row = row;
  }
  const auto all = engine_.RunTogether({sequence});
  for (std::size_t read = 0; engine_.is_root() && read < reads.size(); ++read) {
    EXPECT_TRUE(SameBits(all[0][static_cast<std::size_t>(reads[read].row)], expected[read]));
  }
}

TEST_P(EngineBits, ThreadsChangeNothing) {
  const PackedSequence sequence = SequenceOf(query_, items_);
  const std::vector<RowLogits> expected = Score(items_);
  for (const int threads : {1, 3}) {
    Engine other(model_, {.threads = threads, .precision = precision()});
    const auto results = other.RunTogether({sequence});
    if (engine_.is_root()) {
      ExpectSameBits(results[0], expected);
    }
  }
}

// All ranks on one host, two ranks a host, or each on a host of its own.
TEST_P(EngineBits, HostsChangeNothing) {
  const PackedSequence sequence = SequenceOf(query_, items_);
  const std::vector<RowLogits> expected = Score(items_);
  for (const int ranks_a_host : {1, 2}) {
    Engine other(model_, {.precision = precision(), .ranks_a_host = ranks_a_host});
    if (engine_.ranks() > ranks_a_host &&
        testing::RanksAHostOfTests() == shard::RowExchange::kAsTheyAre) {
      EXPECT_NE(other.Description(), engine_.Description()) << "one uses a shared window";
    }
    const auto results = other.RunTogether({sequence});
    if (engine_.is_root()) {
      ExpectSameBits(results[0], expected);
    }
  }
}

// More targets than travel from rank to rank at once. They lie in the slices of all ranks.
TEST_P(EngineBits, TheRankOfATargetIsACount) {
  std::vector<TokenId> all(kVocabSize);
  std::iota(all.begin(), all.end(), 0);
  PackedSequence sequence = SequenceOf(query_, items_, all);
  for (std::int32_t row = 0; row + 1 < static_cast<std::int32_t>(query_.size()); ++row) {
    proto::RowRead& read = sequence.reads.emplace_back(sequence.reads.front());
    read.row = row;
    read.target = row * 37 % static_cast<TokenId>(kVocabSize);
    read.temperature = row % 2 == 0 ? 1.0F : 0.7F;
  }
  const auto results = engine_.RunTogether({sequence});
  Engine other(model_, {.precision = precision(), .ranks_a_host = 1});
  const auto by_messages = other.RunTogether({sequence});
  if (!engine_.is_root()) {
    return;
  }
  ExpectSameBits(by_messages[0], results[0]);
  for (std::size_t i = 0; i < sequence.reads.size(); ++i) {
    const RowLogits& row = results[0][i];
    const float target = row.label_logits[static_cast<std::size_t>(sequence.reads[i].target)];
    EXPECT_EQ(row.target_logit, target);
    EXPECT_EQ(row.target_rank, std::ranges::count_if(row.label_logits,
                                                     [&](float logit) { return logit >= target; }));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EngineBits,
                         ::testing::Combine(::testing::Values(Precision::kFloat32,
                                                              Precision::kBfloat16,
                                                              Precision::kInt8),
                                            ::testing::ValuesIn(reference::kEachFamily)),
                         [](const auto& test) {
                           return PrecisionAndFamily(std::get<0>(test.param),
                                                     std::get<1>(test.param));
                         });

// Without the limit, the partial logits of a request might be more than MPI can gather.
TEST(EngineBitsOfPasses, FewLogitsInAPassChangeNothing) {
  const std::filesystem::path model =
      std::filesystem::path(reference::kTestsDirectory) / "golden/families/gemma2";
  constexpr auto kPrecision = Precision::kBfloat16;
  const PackedSequence sequence = SequenceOf(Tokens(1, 70), SomeItems());
  Engine engine(model, {.precision = kPrecision});
  const auto expected = engine.RunTogether({sequence});
  const std::int64_t read_bytes =
      proto::ReadBytes(sequence.reads.front(), kLabels.size(), engine.limits());
  // The query and an empty item are read at one row.
  Engine small(model, {.precision = kPrecision, .max_logit_bytes = 2 * read_bytes});
  const std::vector<RowLogits> in_parts = small.RunInParts(sequence);
  if (engine.is_root()) {
    ExpectSameBits(in_parts, expected[0]);
  }
}

}  // namespace engine_bits_test
}  // namespace scorecast::testing
