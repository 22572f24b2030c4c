// The oracle gives the class logits of transformers.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/reference/directories.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/reference_model.h"

namespace scorecast::reference {
namespace classifier_golden_test {

/// transformers computes norms, softmax and the angles of RoPE in float32.
constexpr double kTolerance = 2e-5;

using Rows = std::vector<std::vector<double>>;

void ExpectNear(const Rows& found, const Rows& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t row = 0; row < found.size(); ++row) {
    ASSERT_EQ(found[row].size(), expected[row].size());
    for (std::size_t i = 0; i < found[row].size(); ++i) {
      EXPECT_NEAR(found[row][i], expected[row][i], kTolerance) << "row " << row << ", class " << i;
    }
  }
}

class ClassifierGolden : public testing::TestWithParam<GoldenDirectory> {
 protected:
  const std::filesystem::path dir_ = GetParam().path;
  const ReferenceModel model_{dir_};
  const std::vector<ClassifierCase> golden_ = LoadClassifierGolden(dir_);
};

TEST_P(ClassifierGolden, ItemsInOnePackedSequence) {
  ASSERT_FALSE(golden_.empty());
  for (const ClassifierCase& golden : golden_) {
    const PackedLayout layout = LayOut(golden.query, golden.items);
    const auto first_item = layout.last_rows.begin() + 1;
    const std::vector<std::int32_t> rows(
        first_item, first_item + static_cast<std::ptrdiff_t>(golden.items.size()));
    ExpectNear(model_.Logits(layout.tokens, layout.segments, rows), golden.class_logits);
  }
}

TEST_P(ClassifierGolden, OneByOne) {
  for (const ClassifierCase& golden : golden_) {
    Rows found;
    for (const std::vector<TokenId>& item : golden.items) {
      std::vector<TokenId> tokens = golden.query;
      tokens.insert(tokens.end(), item.begin(), item.end());
      const PackedLayout layout = LayOut(tokens, {});
      const std::vector<std::int32_t> last = {static_cast<std::int32_t>(tokens.size()) - 1};
      found.push_back(model_.Logits(layout.tokens, layout.segments, last).front());
    }
    ExpectNear(found, golden.class_logits);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ClassifierGolden,
    testing::ValuesIn(FindGoldenDirectories(std::string(kTestsDirectory) + "/golden").classifiers));

}  // namespace classifier_golden_test
}  // namespace scorecast::reference
