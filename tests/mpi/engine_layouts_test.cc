// Sequences of every layout have the numbers of the oracle, in every family.

#include <random>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/mpi/engine_harness.h"
#include "tests/mpi/random_sequence.h"
#include "tests/mpi/stored_oracle.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/log_probabilities.h"

namespace scorecast::testing {
namespace engine_layouts_test {

using proto::PackedSequence;
using proto::RowLogits;
using shard::Precision;

class Layouts : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Layouts, AgreeWithTheOracle) {
  Engine engine(Family(GetParam()), {.max_rows = 1024});
  const StoredOracle oracle(Family(GetParam()));
  std::mt19937 random(5);
  for (int round = 0; round < 8; ++round) {
    const PackedSequence sequence = RandomSequence(random, round % 2 == 0);
    const std::vector<RowLogits> found = RunWhole(engine, sequence);
    if (!engine.is_root()) {
      continue;
    }
    std::vector<std::int32_t> rows;
    for (const proto::RowRead& read : sequence.reads) {
      rows.push_back(read.row);
    }
    const auto expected =
        oracle.Logits(sequence.tokens, sequence.segments, rows, sequence.block_weighting);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::vector<double> log_probs = reference::LogSoftmax(expected[i]);
      const std::vector<double> labels = LabelLogProbs(found[i]);
      for (std::size_t l = 0; l < labels.size(); ++l) {
        EXPECT_NEAR(labels[l], log_probs[static_cast<std::size_t>(sequence.label_lists[0][l])],
                    1e-4)
            << "round " << round << ", read " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Layouts, ::testing::ValuesIn(reference::kEachFamily),
                         [](const auto& test) {
                           return PrecisionAndFamily(Precision::kFloat32, test.param);
                         });

}  // namespace engine_layouts_test
}  // namespace scorecast::testing
