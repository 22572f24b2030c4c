// A request's numbers have the same bits with and without a cache, whatever else is cached, in
// however many passes.

#include <algorithm>
#include <filesystem>
#include <random>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/schedule/pages/block_cache.h"
#include "tests/mpi/engine_harness.h"
#include "tests/mpi/paged_plan.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace engine_cache_test {

using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;
using reference::PositionStrategy;
using shard::Precision;
using Texts = std::vector<std::vector<TokenId>>;

constexpr std::int64_t kVocabSize = 320;

class EngineCache : public ::testing::TestWithParam<std::tuple<Precision, std::string_view>> {
 protected:
  std::vector<TokenId> Text(int low, int high) {
    const auto count = static_cast<std::size_t>(std::uniform_int_distribution(low, high)(random_));
    return reference::RandomTokens(random_(), count, kVocabSize);
  }
  Texts MakeTexts(std::size_t count, int low, int high) {
    Texts texts(count);
    std::ranges::generate(texts, [&] { return Text(low, high); });
    return texts;
  }

  /// Chunks at shared positions, and questions, each of which is read at its end.
  static PackedSequence Sequence(const std::vector<TokenId>& system, const Texts& chunks,
                                 const Texts& questions) {
    std::vector<Texts> groups;
    for (const auto& chunk : chunks) {
      groups.push_back({chunk});
    }
    PackedSequence sequence =
        Pack(reference::LayOutGroups(system, groups, questions, PositionStrategy::kShared));
    sequence.label_lists = {{0, 5, 17}};
    std::int32_t rows = 0;
    for (const proto::Segment& segment : sequence.segments) {
      rows += segment.length;
      if (segment.kind == proto::SegmentKind::kSuffix) {
        sequence.reads.push_back({rows - 1, 0, true, 3});
      }
    }
    return sequence;
  }

  /// Computes the sequence uncached and cached, in one pass or in several.
  void ExpectSameBits(const PackedSequence& sequence, coordinator::BlockCache& cache,
                      std::int32_t max_rows) {
    const auto expected = engine_.RunTogether({sequence});
    proto::PlanLimits limits = engine_.limits();
    limits.max_rows = max_rows;
    const std::int64_t pages = cache.available_pages();
    limits.kept_kv_rows = static_cast<std::int32_t>(pages) * proto::kKvPageRows;
    const std::vector<RowLogits> found = engine_.RunInParts(sequence, cache, limits);
    if (engine_.is_root()) {
      ASSERT_EQ(found.size(), expected[0].size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_TRUE(SameBits(found[i], expected[0][i])) << "read " << i;
      }
    }
    EXPECT_EQ(cache.available_pages(), pages);
  }

  const std::filesystem::path model_ = std::filesystem::path(reference::kTestsDirectory) /
                                       "golden/families" / std::get<1>(GetParam());
  Engine engine_{model_, {.max_rows = 1024, .precision = std::get<0>(GetParam())}};
  std::mt19937 random_{11};
};

TEST_P(EngineCache, ShortChunksReorderedAndReusedHaveTheSameBits) {
  // There is room for all; for most of them, so that some are evicted; and for hardly more than one
  // sequence of nine.
  for (const std::int32_t pages : {64, 25, 14}) {
    coordinator::BlockCache cache(pages, pages);
    const std::vector<TokenId> system = Text(5, 40);
    Texts chunks = MakeTexts(24, 1, 20);
    Texts more = MakeTexts(3, 30, 70);
    chunks.insert(chunks.end(), more.begin(), more.end());
    for (int round = 0; round < 6; ++round) {
      std::ranges::shuffle(chunks, random_);
      Texts some(chunks.begin(), chunks.begin() + (round % 2 == 0 ? 15 : 9));
      if (round == 4) {
        some.front().push_back(7);  // The rows that it shares with a cached chunk are copied.
      }
      ExpectSameBits(Sequence(system, some, MakeTexts(2, 1, 9)), cache, round % 2 == 0 ? 1024 : 90);
    }
    if (pages > 14) {
      EXPECT_GT(cache.counters().hit_tokens, cache.counters().asked_tokens / 4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EngineCache,
                         ::testing::Combine(::testing::Values(Precision::kFloat32,
                                                              Precision::kBfloat16,
                                                              Precision::kInt8),
                                            ::testing::ValuesIn(reference::kEachFamily)),
                         [](const auto& test) {
                           return PrecisionAndFamily(std::get<0>(test.param),
                                                     std::get<1>(test.param));
                         });

}  // namespace engine_cache_test
}  // namespace scorecast::testing
