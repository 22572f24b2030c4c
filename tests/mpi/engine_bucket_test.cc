// A plan's token bucket decides how the ranks lay out their buffers. Every rank refuses a plan that
// its bucket does not hold, results do not depend on the bucket, and the buffers of buckets up to
// kTouchedBucket are in memory from start-up on.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "coordinator/prompts/sequence_layout.h"
#include "proto/base/check.h"
#include "tests/mpi/engine_harness.h"
#include "tests/reference/directories.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/shard/resident_pages.h"

namespace scorecast::testing {
namespace engine_bucket_test {

using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;
using shard::Precision;
using ::testing::HasSubstr;

const std::filesystem::path kModel =
    std::filesystem::path(reference::kTestsDirectory) / "golden/families/qwen3";
constexpr std::int32_t kMaxRows = 8192;

std::vector<TokenId> Tokens(std::uint64_t seed, std::size_t count) {
  return reference::RandomTokens(seed, count, /*vocab_size=*/320);
}

/// A query of 70 tokens, and items with 155 tokens in total.
PackedSequence SomeItems() {
  std::vector<std::vector<TokenId>> items;
  for (const std::size_t length : {3U, 1U, 17U, 0U, 64U, 5U, 65U}) {
    items.push_back(Tokens(100 + items.size(), length));
  }
  return ItemsSequence(Tokens(1, 70), items, {3, 7, 300}, 4);
}

/// A prompt of so many rows, the last `reads` of which are read.
PackedSequence Prompt(std::uint64_t seed, std::size_t rows, std::size_t reads) {
  PackedSequence sequence = coordinator::PackItems(
      std::make_shared<const std::vector<proto::TokenId>>(Tokens(seed, rows)), {});
  sequence.label_lists = {{3, 7}};
  for (std::size_t row = rows - reads; row < rows; ++row) {
    sequence.reads.push_back({static_cast<std::int32_t>(row), 0, true, 2});
  }
  return sequence;
}

class EngineBuckets : public ::testing::TestWithParam<Precision> {
 protected:
  Engine engine_{kModel, {.max_rows = kMaxRows, .precision = GetParam()}};
};

// Before each pass, another pass with more rows leaves its numbers in the buffers.
TEST_P(EngineBuckets, LargerBucketsChangeNothing) {
  const PackedSequence sequence = SomeItems();
  const auto expected = engine_.RunTogether({sequence});
  for (const std::uint32_t rows : {256U, 512U, 1024U, 8192U}) {
    for (const std::uint32_t reads : {32U, 64U, 8192U}) {
      engine_.RunTogether({Prompt(rows + reads, 700, 50)});
      const auto results = engine_.RunTogether({sequence}, {.rows = rows, .reads = reads});
      for (std::size_t i = 0; engine_.is_root() && i < expected[0].size(); ++i) {
        EXPECT_TRUE(SameBits(results[0][i], expected[0][i]))
            << "read " << i << ", buckets " << rows << " and " << reads;
      }
    }
  }
}

// The rows of one pass that are read have their bucket's room, which is not much larger, and give
// the same bits as read by several passes.
TEST_P(EngineBuckets, ReadsFillTheirBucket) {
  constexpr std::int32_t kRows = 200;
  constexpr std::int32_t kReads = 120;
  const PackedSequence sequence = Prompt(3, kRows, kReads);
  std::vector<RowLogits> expected;
  for (std::int32_t begin = 0; begin < kReads; begin += 30) {
    PackedSequence part = sequence;
    part.reads.assign(sequence.reads.begin() + begin, sequence.reads.begin() + begin + 30);
    for (const auto& rows : engine_.RunTogether({part})) {
      expected.insert(expected.end(), rows.begin(), rows.end());
    }
  }
  for (const std::uint32_t reads : {128U, 256U, 8192U}) {
    const auto results = engine_.RunTogether({sequence}, {.reads = reads});
    for (std::size_t i = 0; engine_.is_root() && i < expected.size(); ++i) {
      EXPECT_TRUE(SameBits(results[0][i], expected[i])) << "read " << i << ", bucket " << reads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, EngineBuckets,
                         ::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                           Precision::kInt8),
                         [](const auto& param) { return std::string(Name(param.param)); });

/// A failed check, turned into an exception that each rank can catch by itself.
struct CheckFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Turns failed checks into CheckFailure for as long as it lives. Afterwards they end the job
/// again.
class CheckFailuresThrow {
 public:
  CheckFailuresThrow() {
    proto::SetCheckFailureHandler([](const char* message) { throw CheckFailure(message); });
  }
  ~CheckFailuresThrow() {
    proto::SetCheckFailureHandler([](const char* message) {
      std::fprintf(stderr, "%s\n", message);
      std::abort();
    });
  }
  CheckFailuresThrow(const CheckFailuresThrow&) = delete;
  CheckFailuresThrow& operator=(const CheckFailuresThrow&) = delete;
};

// The check fails before any rank begins the pass, so the ranks stay in step and the engine can be
// used again.
TEST(EngineBucket, EveryRankRefusesAPlanThatItsBucketDoesNotHold) {
  const CheckFailuresThrow guard;
  Engine engine(kModel, {.max_rows = 512});
  const auto fault_of = [&](std::size_t rows, std::size_t reads, Engine::Buckets buckets) {
    std::string fault;
    try {
      engine.RunTogether({Prompt(1, rows, reads)}, buckets);
    } catch (const CheckFailure& failure) {
      fault = failure.what();
    }
    return fault;
  };
  EXPECT_EQ(fault_of(32, 32, {}), "");
  EXPECT_EQ(fault_of(32, 32, {.rows = 32, .reads = 32}), "");
  EXPECT_THAT(fault_of(33, 1, {.rows = 32}), HasSubstr("fit its buckets"));
  EXPECT_THAT(fault_of(500, 1, {.rows = 256}), HasSubstr("fit its buckets"));
  EXPECT_THAT(fault_of(40, 33, {.reads = 32}), HasSubstr("fit its buckets"));
  EXPECT_THAT(fault_of(32, 1, {.rows = 1024}), HasSubstr("buckets are those of the engine"));
  EXPECT_THAT(fault_of(32, 1, {.rows = 48}), HasSubstr("buckets are those of the engine"));
  EXPECT_THAT(fault_of(32, 1, {.reads = 16}), HasSubstr("buckets are those of the engine"));
  EXPECT_EQ(fault_of(33, 33, {}), "");
}

std::int64_t PageFaults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

class EngineFirstPass : public ::testing::TestWithParam<int> {};

// The buffers of 1024 rows take some thousands of pages. A plan, its partial logits and its
// messages take a few.
TEST_P(EngineFirstPass, TouchesNoNewBuffers) {
  DisableHugePages();
  constexpr std::size_t kRows = proto::kTouchedBucket;
  Engine engine(kModel, {.max_rows = kMaxRows, .ranks_a_host = GetParam()});
  engine.RunTogether({Prompt(1, 16, 1)});  // Work that the libraries do only once.
  const std::int64_t before = PageFaults();
  engine.RunTogether({Prompt(2, kRows, 40)});
  const std::int64_t first = PageFaults() - before;
  const std::int64_t between = PageFaults();
  engine.RunTogether({Prompt(3, 4 * kRows, 40)});
  const std::int64_t of_more_rows = PageFaults() - between;
  EXPECT_LT(first, of_more_rows / 4) << "a larger bucket is not touched at start-up";
}

INSTANTIATE_TEST_SUITE_P(RanksAHost, EngineFirstPass,
                         ::testing::Values(shard::RowExchange::kAsTheyAre, 1, 2),
                         ::testing::PrintToStringParamName());

}  // namespace engine_bucket_test
}  // namespace scorecast::testing
