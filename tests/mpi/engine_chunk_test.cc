// Chunk-aware prompts agree with other implementations, and with equivalent prompts.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/mpi/engine_harness.h"
#include "tests/mpi/paged_plan.h"
#include "tests/reference/dense_mask.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace engine_chunk_test {

using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;
using reference::ChunkAwareCase;
using reference::PositionStrategy;

/// The promised largest error of a log-probability against the references.
constexpr double kTolerance = 1e-4;

/// Makes the sequence read its last row: logits of `labels` and the `top_k` best tokens.
void ReadLastRow(const std::vector<TokenId>& labels, int top_k, PackedSequence& sequence) {
  sequence.label_lists = {labels};
  sequence.reads = {{static_cast<std::int32_t>(sequence.rows()) - 1, 0, true, top_k}};
}

void ExpectGolden(const RowLogits& row, const ChunkAwareCase& golden) {
  const std::vector<double> found = LabelLogProbs(row);
  ASSERT_EQ(found.size(), golden.label_logprobs.size());
  for (std::size_t l = 0; l < found.size(); ++l) {
    EXPECT_NEAR(found[l], golden.label_logprobs[l], kTolerance) << "label " << l;
  }
  ASSERT_EQ(row.top.size(), golden.top_logprobs.size());
  for (std::size_t k = 0; k < row.top.size(); ++k) {
    EXPECT_EQ(row.top[k].first, golden.top_logprobs[k].first) << "place " << k;
    EXPECT_NEAR(static_cast<double>(row.top[k].second) - row.max - std::log(row.sum_exp),
                golden.top_logprobs[k].second, kTolerance);
  }
}

class ChunkGolden : public ::testing::TestWithParam<reference::GoldenDirectory> {
 protected:
  /// Generates tokens greedily: each plan computes one row behind the stored ones, and must give
  /// the golden token. Appends the golden token and not the token found: only rank 0 has found one,
  /// and all ranks must make the same plans.
  void ExpectGreedy(const ChunkAwareCase& golden, PagedSequence paged, ScatteredPages& free) {
    paged.sequence.label_lists = {{}};
    for (const TokenId token : golden.greedy) {
      const auto rows = static_cast<std::int32_t>(paged.sequence.rows());
      paged.sequence.reads = {{rows - 1, 0, true, 1}};
      PlanMaker maker;
      maker.Add(paged, RowsBetween(paged.sequence, rows - 1, rows));
      const std::vector<RowLogits> found = engine_.Run(maker.Take());
      if (engine_.is_root()) {
        EXPECT_EQ(found[0].top[0].first, token);
      }
      paged.Append(token, free);
    }
  }

  Engine engine_{GetParam().path};
};

TEST_P(ChunkGolden, WholeAndInPagesAndGreedy) {
  const reference::FamilyGolden golden = reference::LoadFamilyGolden(GetParam().path);
  int groups = 0;
  int weighted = 0;
  for (std::size_t i = 0; i < golden.chunk_aware.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const ChunkAwareCase& chunk_case = golden.chunk_aware[i];
    groups += chunk_case.groups.empty() ? 0 : 1;
    weighted += WeightingOf(chunk_case).is_plain() ? 0 : 1;
    PackedSequence sequence =
        Pack(reference::LayOutGroups(chunk_case.system, GroupsOf(chunk_case), {chunk_case.question},
                                     chunk_case.strategy),
             WeightingOf(chunk_case));
    ReadLastRow(chunk_case.label_token_ids, 5, sequence);
    EXPECT_EQ(reference::RowPositions(sequence.segments), chunk_case.positions);

    PlanMaker whole;
    whole.AddWhole(sequence);
    const std::vector<RowLogits> expected = engine_.Run(whole.Take());
    ScatteredPages free(engine_.limits(), i);
    const PagedSequence paged = InPages(sequence, free);
    PlanMaker in_pages;
    in_pages.Add(paged, RowsBetween(sequence, 0, static_cast<std::int32_t>(sequence.rows())));
    const std::vector<RowLogits> found = engine_.Run(in_pages.Take());
    if (engine_.is_root()) {
      ExpectGolden(expected[0], chunk_case);
      EXPECT_TRUE(SameBits(found[0], expected[0]));
    }
    ExpectGreedy(chunk_case, paged, free);
  }
  EXPECT_GE(groups, 1);
  // tests/golden/make/families.py makes weighted cases only for these two families.
  const std::string& type = engine_.config().model_type;
  EXPECT_EQ(weighted, type == "llama" || type == "qwen3" ? 2 : 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, ChunkGolden,
    ::testing::ValuesIn(reference::FindGoldenDirectories(std::string(reference::kTestsDirectory) +
                                                         "/golden")
                            .language_models));

class Chunks : public ::testing::Test {
 protected:
  std::vector<TokenId> Tokens(std::uint64_t seed, std::size_t count) const {
    return reference::RandomTokens(seed, count, engine_.config().vocab_size);
  }

  /// Log-probabilities of some labels at the last row.
  std::vector<double> LastRow(const reference::PackedLayout& layout) {
    PackedSequence sequence = Pack(layout);
    ReadLastRow({3, 7, 300, 12, 100}, 0, sequence);
    PlanMaker whole;
    whole.AddWhole(sequence);
    const std::vector<RowLogits> rows = engine_.Run(whole.Take());
    return rows.empty() ? std::vector<double>{} : LabelLogProbs(rows[0]);
  }

  static void ExpectNear(const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_NEAR(a[i], b[i], 1e-5);
    }
  }

  Engine engine_{std::string(reference::kTestsDirectory) + "/golden/families/qwen3"};
};

TEST_F(Chunks, OneChunkAndOneQuestionIsPlainCausal) {
  const auto system = Tokens(1, 20);
  const auto chunk = Tokens(2, 90);
  const auto question = Tokens(3, 9);
  std::vector<TokenId> all = system;
  all.insert(all.end(), chunk.begin(), chunk.end());
  all.insert(all.end(), question.begin(), question.end());
  const std::vector<double> causal = LastRow(reference::LayOut(all, {}));
  for (const PositionStrategy strategy : {PositionStrategy::kShared, PositionStrategy::kOffset}) {
    ExpectNear(LastRow(reference::LayOut(system, {chunk}, question, strategy)), causal);
  }
}

TEST_F(Chunks, OrderChangesNothing) {
  const auto system = Tokens(1, 20);
  const auto question = Tokens(3, 9);
  std::vector<std::vector<TokenId>> chunks = {Tokens(4, 70), Tokens(5, 8), Tokens(6, 64),
                                              Tokens(7, 1)};
  const std::vector<double> expected = LastRow(reference::LayOut(system, chunks, question));
  for (int rotation = 1; rotation < 4; ++rotation) {
    std::rotate(chunks.begin(), chunks.begin() + 1, chunks.end());
    ExpectNear(LastRow(reference::LayOut(system, chunks, question)), expected);
  }
}

}  // namespace engine_chunk_test
}  // namespace scorecast::testing
