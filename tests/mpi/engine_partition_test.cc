// Uneven splits: 9 query heads and 3 K/V heads over more ranks than K/V heads, up to one query head
// per rank.

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/mpi/engine_harness.h"
#include "tests/reference/golden_cases.h"

namespace scorecast::testing {
namespace engine_partition_test {

TEST(UnevenPartition, NineHeads) {
  const std::filesystem::path dir =
      std::filesystem::path(SCORECAST_TESTS_DIR) / "golden/families/llama-nine-heads";
  Engine engine(dir, {.threads = 1});
  for (const reference::MultiItemCase& item_case : reference::LoadFamilyGolden(dir).multi_item) {
    const auto results = engine.RunTogether(
        {ItemsSequence(item_case.hidden.prefix, item_case.items, item_case.label_token_ids)});
    for (std::size_t row = 0; engine.is_root() && row < results[0].size(); ++row) {
      const std::vector<double> found = LabelLogProbs(results[0][row]);
      for (std::size_t l = 0; l < found.size(); ++l) {
        EXPECT_NEAR(found[l], item_case.hidden.label_logprobs[row][l], 1e-4);
      }
    }
  }
}

}  // namespace engine_partition_test
}  // namespace scorecast::testing
