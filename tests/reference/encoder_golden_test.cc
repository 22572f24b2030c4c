// The oracle gives the figures of transformers' encoders.

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/reference/directories.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/reference_model.h"

namespace scorecast::reference {
namespace encoder_golden_test {

/// The golden figures are computed in float64, but the frequencies of RoPE in float32: ModernBERT's
/// values, up to 8, are met within 1.2e-6.
constexpr double kTolerance = 3e-6;

void ExpectNear(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], kTolerance) << "value " << i;
  }
}

void ExpectHidden(const ReferenceModel& model, const std::filesystem::path& dir) {
  const HiddenCase golden = LoadHiddenGolden(dir);
  const auto rows = static_cast<std::int32_t>(golden.ids.size());
  const std::vector<proto::Segment> segments = {{proto::SegmentKind::kPrefix, rows, 0}};
  std::vector<std::int32_t> all(golden.ids.size());
  std::iota(all.begin(), all.end(), 0);
  const auto found = model.FinalRows(golden.ids, segments, all, {}, golden.types);
  ASSERT_EQ(found.size(), golden.last_hidden.size());
  for (std::size_t row = 0; row < found.size(); ++row) {
    SCOPED_TRACE("row " + std::to_string(row));
    ExpectNear(found[row], golden.last_hidden[row]);
  }
}

class EncoderClassifier : public testing::TestWithParam<GoldenDirectory> {};

TEST_P(EncoderClassifier, HiddenRowsAndClassLogits) {
  const ReferenceModel model(GetParam().path);
  ExpectHidden(model, GetParam().path);
  const std::vector<TextClassifierCase> cases = LoadTextClassifierGolden(GetParam().path);
  ASSERT_FALSE(cases.empty());
  for (const TextClassifierCase& golden : cases) {
    SCOPED_TRACE(std::to_string(golden.ids.size()) + " tokens");
    ExpectNear(model.TextResult(golden.ids, golden.types), golden.class_logits);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EncoderClassifier,
    testing::ValuesIn(
        FindEncoderDirectories(std::string(kTestsDirectory) + "/golden").classifiers));

class Embedder : public testing::TestWithParam<GoldenDirectory> {};

TEST_P(Embedder, HiddenRowsAndTheirMean) {
  const ReferenceModel model(GetParam().path);
  ExpectHidden(model, GetParam().path);
  for (const EmbeddingCase& golden : LoadEmbeddingGolden(GetParam().path)) {
    SCOPED_TRACE(std::to_string(golden.ids.size()) + " tokens");
    ExpectNear(model.TextResult(golden.ids, golden.types), golden.mean);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Embedder,
    testing::ValuesIn(FindEncoderDirectories(std::string(kTestsDirectory) + "/golden").embedders));

}  // namespace encoder_golden_test
}  // namespace scorecast::reference
