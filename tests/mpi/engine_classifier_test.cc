// Classifiers: class logits agree with other implementations and with the oracle on any number of
// ranks, even if only the first ranks have classes. They have the same bits in any company.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/mpi/engine_harness.h"
#include "tests/mpi/stored_oracle.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::testing {
namespace engine_classifier_test {

using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;
using shard::Precision;

using TokenLists = std::vector<std::vector<TokenId>>;

/// The promised largest error of a logit against the references.
constexpr double kTolerance = 1e-4;

/// Reads all classes of the last row of each item, as an endpoint does if `normalizer` is false.
PackedSequence ClassSequence(const std::vector<TokenId>& query, const TokenLists& items,
                             std::int64_t classes, bool normalizer = false) {
  std::vector<TokenId> all(static_cast<std::size_t>(classes));
  std::iota(all.begin(), all.end(), 0);
  PackedSequence sequence = ItemsSequence(query, items, all);
  sequence.reads.erase(sequence.reads.begin());  // The query's row.
  for (proto::RowRead& read : sequence.reads) {
    read.normalizer = normalizer;
  }
  return sequence;
}

/// Rows of class logits; empty on ranks other than 0.
std::vector<RowLogits> ClassRows(Engine& engine, const PackedSequence& sequence) {
  auto results = engine.RunTogether({sequence});
  return results.empty() ? std::vector<RowLogits>() : std::move(results[0]);
}

class ClassifierGolden : public ::testing::TestWithParam<reference::GoldenDirectory> {};

TEST_P(ClassifierGolden, ClassLogits) {
  const std::filesystem::path dir = GetParam().path;
  Engine engine(dir);
  for (const reference::ClassifierCase& golden : reference::LoadClassifierGolden(dir)) {
    for (const bool normalizer : {false, true}) {
      const std::vector<RowLogits> found = ClassRows(
          engine,
          ClassSequence(golden.query, golden.items, engine.config().num_labels, normalizer));
      if (!engine.is_root()) {
        continue;
      }
      ASSERT_EQ(found.size(), golden.items.size());
      for (std::size_t item = 0; item < found.size(); ++item) {
        const std::vector<double>& expected = golden.class_logits[item];
        ASSERT_EQ(found[item].label_logits.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_NEAR(found[item].label_logits[i], expected[i], kTolerance)
              << "item " << item << ", class " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ClassifierGolden,
    ::testing::ValuesIn(reference::FindGoldenDirectories(std::string(reference::kTestsDirectory) +
                                                         "/golden")
                            .classifiers));

/// A random classifier, whose weights every rank makes for itself.
struct RandomClassifier {
  RandomClassifier(std::int64_t classes, bool head_bias) {
    reference::RandomCheckpoint checkpoint;
    checkpoint.config = reference::TinyConfig("llama");
    checkpoint.config.num_labels = classes;
    checkpoint.seed = 30;
    checkpoint.head_bias = head_bias;
    reference::WriteRandomCheckpoint(dir.path(), checkpoint);
  }

  std::vector<TokenId> Tokens(std::uint64_t seed, std::size_t count) const {
    return reference::RandomTokens(seed, count, 200);
  }
  TokenLists Items() const {
    TokenLists items;
    for (const std::size_t length : {3U, 1U, 17U, 0U, 64U, 5U, 65U}) {
      items.push_back(Tokens(100 + items.size(), length));
    }
    return items;
  }

  const reference::TempDirectory dir;
  const std::vector<TokenId> query = Tokens(1, 70);
};

std::vector<std::int32_t> RowsOf(const PackedSequence& sequence) {
  std::vector<std::int32_t> rows;
  for (const proto::RowRead& read : sequence.reads) {
    rows.push_back(read.row);
  }
  return rows;
}

// One class and many; with and without a bias; from the mapped weight and from the product.
TEST(RandomClassifiers, AgreeWithTheOracle) {
  for (const std::int64_t classes : {1, 3, 16, 17, 40, 3000}) {
    for (const bool bias : {false, true}) {
      const RandomClassifier model(classes, bias);
      Engine engine(model.dir.path());
      for (const bool normalizer : {false, true}) {
        SCOPED_TRACE(std::to_string(classes) + " classes" + (bias ? ", bias" : "") +
                     (normalizer ? ", normalizer" : ""));
        const PackedSequence sequence =
            ClassSequence(model.query, model.Items(), classes, normalizer);
        const std::vector<RowLogits> found = ClassRows(engine, sequence);
        if (!engine.is_root()) {
          continue;
        }
        const auto expected = StoredOracle(model.dir.path())
                                  .Logits(sequence.tokens, sequence.segments, RowsOf(sequence));
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t item = 0; item < found.size(); ++item) {
          ASSERT_EQ(found[item].label_logits.size(), static_cast<std::size_t>(classes));
          for (std::size_t i = 0; i < expected[item].size(); ++i) {
            ASSERT_NEAR(found[item].label_logits[i], expected[item][i], kTolerance);
          }
        }
      }
    }
  }
}

/// Root mean square of the differences.
double Rms(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::sqrt(squares / static_cast<double>(a.size()));
}

class ClassifierPrecision : public ::testing::TestWithParam<Precision> {};

// The layers round to the precision, but the head does not.
TEST_P(ClassifierPrecision, ErrorIsThatOfTheLayers) {
  constexpr std::int64_t kClasses = 5;
  const RandomClassifier model(kClasses, true);
  Engine engine(model.dir.path(), {.precision = GetParam()});
  TokenLists items;
  for (std::size_t i = 0; i < 100; ++i) {
    items.push_back(model.Tokens(i, 1 + i % 3));
  }
  const PackedSequence sequence = ClassSequence(model.query, items, kClasses);
  std::vector<double> found;
  for (const RowLogits& row : ClassRows(engine, sequence)) {
    found.insert(found.end(), row.label_logits.begin(), row.label_logits.end());
  }
  if (!engine.is_root()) {
    return;
  }
  const auto logits_of = [&](const reference::Rounding& rounding) {
    std::vector<double> logits;
    for (const auto& row : StoredOracle(model.dir.path(), rounding)
                               .Logits(sequence.tokens, sequence.segments, RowsOf(sequence))) {
      logits.insert(logits.end(), row.begin(), row.end());
    }
    return logits;
  };
  const reference::Rounding rounding = {GetParam() == Precision::kInt8
                                            ? reference::Precision::kInt8
                                            : reference::Precision::kBfloat16,
                                        /*summands=*/engine.ranks() > 1};
  const std::vector<double> exact = logits_of({});
  const double of_rounding = Rms(logits_of(rounding), exact);
  // About 100 independent samples, one for each item: see engine_precision_test.cc.
  EXPECT_LE(Rms(found, exact), 1.3 * of_rounding);
  EXPECT_GE(Rms(found, exact), of_rounding / 2);
}

INSTANTIATE_TEST_SUITE_P(Precisions, ClassifierPrecision,
                         ::testing::Values(Precision::kBfloat16, Precision::kInt8),
                         [](const auto& test) { return std::string(Name(test.param)); });

class ClassifierBits : public ::testing::TestWithParam<Precision> {};

TEST_P(ClassifierBits, CompanyOrderPassesAndThreadsChangeNothing) {
  constexpr std::int64_t kClasses = 20;
  const RandomClassifier model(kClasses, true);
  Engine engine(model.dir.path(), {.precision = GetParam()});
  const TokenLists items = model.Items();
  const PackedSequence sequence = ClassSequence(model.query, items, kClasses);
  const std::vector<RowLogits> expected = ClassRows(engine, sequence);
  const auto expect_same = [&](const std::vector<RowLogits>& found, std::size_t first = 0) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(SameBits(found[i], expected[first + i])) << "read " << i;
    }
  };

  for (std::size_t item = 0; item < items.size(); ++item) {
    expect_same(ClassRows(engine, ClassSequence(model.query, {items[item]}, kClasses)), item);
  }
  TokenLists reversed(items.rbegin(), items.rend());
  std::vector<RowLogits> found = ClassRows(engine, ClassSequence(model.query, reversed, kClasses));
  std::reverse(found.begin(), found.end());
  expect_same(found);

  const auto together = engine.RunTogether(
      {ClassSequence(model.Tokens(7, 33), {model.Tokens(8, 9)}, kClasses), sequence});
  if (engine.is_root()) {
    expect_same(together[1]);
  }
  for (const std::int32_t max_rows : {7, 64}) {
    Engine small(model.dir.path(), {.max_rows = max_rows, .precision = GetParam()});
    expect_same(small.RunInParts(sequence));
  }
  Engine other(model.dir.path(), {.threads = 3, .precision = GetParam()});
  expect_same(ClassRows(other, sequence));
}

INSTANTIATE_TEST_SUITE_P(Precisions, ClassifierBits,
                         ::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                           Precision::kInt8),
                         [](const auto& test) { return std::string(Name(test.param)); });

}  // namespace engine_classifier_test
}  // namespace scorecast::testing
