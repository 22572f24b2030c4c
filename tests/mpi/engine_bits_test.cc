// A request's numbers are the same bits whatever is computed beside it, and however.

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "tests/mpi/engine_harness.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace {

using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;

const std::filesystem::path kModel =
    std::filesystem::path(SCORECAST_TESTS_DIR) / "golden/families/qwen3";
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

void ExpectSameBits(const std::vector<RowLogits>& a, const std::vector<RowLogits>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(SameBits(a[i], b[i])) << "read " << i;
  }
}

class EngineBits : public ::testing::Test {
 protected:
  Engine engine_{kModel};
  std::vector<TokenId> query_ = Tokens(1, 70);
  std::vector<std::vector<TokenId>> items_ = SomeItems();

  std::vector<RowLogits> Score(const std::vector<std::vector<TokenId>>& items) {
    auto results = engine_.RunTogether({ItemsSequence(query_, items, kLabels, 4)});
    return results.empty() ? std::vector<RowLogits>{} : std::move(results[0]);
  }
};

TEST_F(EngineBits, RunsAreEqual) { ExpectSameBits(Score(items_), Score(items_)); }

TEST_F(EngineBits, LargerBucketsChangeNothing) {
  const PackedSequence sequence = ItemsSequence(query_, items_, kLabels, 4);
  const std::vector<RowLogits> expected = Score(items_);
  for (const std::uint32_t bucket : {512U, 1024U, 8192U}) {
    const auto results = engine_.RunTogether({sequence}, bucket);
    if (engine_.is_root()) {
      ExpectSameBits(results[0], expected);
    }
  }
}

TEST_F(EngineBits, OtherItemsChangeNothing) {
  const std::vector<RowLogits> expected = Score(items_);
  const auto read_of = [](std::size_t item) { return item + 1; };
  for (std::size_t item = 0; item < items_.size(); ++item) {
    // Alone; with every other one changed; with one added before.
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
            << "a changed item's own scores change";
      }
    }
  }
}

TEST_F(EngineBits, OrderOfItemsChangesNothing) {
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

TEST_F(EngineBits, OtherRequestsChangeNothing) {
  const PackedSequence sequence = ItemsSequence(query_, items_, kLabels, 4);
  const std::vector<RowLogits> expected = Score(items_);
  for (std::size_t length = 1; length < 200; length += 13) {
    const PackedSequence before = ItemsSequence(Tokens(length, length), {}, {9});
    const PackedSequence after = ItemsSequence(Tokens(length + 1, 7), {Tokens(2, 3)}, {4, 5});
    const auto results = engine_.RunTogether({before, sequence, after});
    if (engine_.is_root()) {
      ExpectSameBits(results[1], expected);
    }
  }
}

TEST_F(EngineBits, SeveralPassesChangeNothing) {
  const PackedSequence sequence = ItemsSequence(query_, items_, kLabels, 4);
  const std::vector<RowLogits> expected = Score(items_);
  for (const std::int32_t max_rows : {1, 7, 16, 63, 64, 100}) {
    Engine small(kModel, {.threads = 2, .max_rows = max_rows});
    ExpectSameBits(small.RunInParts(sequence), expected);
  }
}

TEST_F(EngineBits, ThreadsChangeNothing) {
  const PackedSequence sequence = ItemsSequence(query_, items_, kLabels, 4);
  const std::vector<RowLogits> expected = Score(items_);
  for (const int threads : {1, 3, 5}) {
    Engine other(kModel, {.threads = threads});
    const auto results = other.RunTogether({sequence});
    if (engine_.is_root()) {
      ExpectSameBits(results[0], expected);
    }
  }
}

// With delimiters hidden, an item beside others is scored as query + item alone would be.
TEST_F(EngineBits, MultiItemIsOneByOne) {
  const std::vector<RowLogits> together = Score(items_);
  for (std::size_t item = 0; item < items_.size(); ++item) {
    std::vector<TokenId> prompt = query_;
    prompt.insert(prompt.end(), items_[item].begin(), items_[item].end());
    const auto alone = engine_.RunTogether({ItemsSequence(prompt, {}, kLabels)});
    if (!engine_.is_root()) {
      continue;
    }
    const std::vector<double> expected = LabelLogProbs(alone[0][0]);
    const std::vector<double> found = LabelLogProbs(together[item + 1]);
    for (std::size_t l = 0; l < kLabels.size(); ++l) {
      EXPECT_NEAR(found[l], expected[l], 1e-5) << "item " << item;
    }
  }
}

// Labels that are only compared with each other are computed without the rest of the vocabulary.
TEST_F(EngineBits, LabelsAloneAgreeWithTheWholeRow) {
  PackedSequence sequence = ItemsSequence(query_, items_, kLabels);
  const auto whole = engine_.RunTogether({sequence});
  for (proto::RowRead& read : sequence.reads) {
    read.normalizer = false;
  }
  const auto alone = engine_.RunTogether({sequence});
  if (!engine_.is_root()) {
    return;
  }
  for (std::size_t i = 0; i < sequence.reads.size(); ++i) {
    for (std::size_t l = 0; l < kLabels.size(); ++l) {
      // Two orders of adding hidden_size products of float32.
      EXPECT_NEAR(alone[0][i].label_logits[l], whole[0][i].label_logits[l], 1e-4);
    }
  }
}

// Every instruction set that this machine has gives the same scores, if not the same bits.
TEST_F(EngineBits, InstructionSetsAgree) {
  const PackedSequence sequence = ItemsSequence(query_, items_, kLabels, 4);
  const std::vector<RowLogits> expected = Score(items_);
  for (int set = 0; set <= static_cast<int>(shard::DetectInstructionSet()); ++set) {
    Engine other(kModel, {.instruction_set = static_cast<shard::InstructionSet>(set)});
    const auto results = other.RunTogether({sequence});
    for (std::size_t i = 0; engine_.is_root() && i < expected.size(); ++i) {
      const std::vector<double> a = LabelLogProbs(results[0][i]);
      const std::vector<double> b = LabelLogProbs(expected[i]);
      for (std::size_t l = 0; l < kLabels.size(); ++l) {
        EXPECT_NEAR(a[l], b[l], 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace scorecast::testing
