#include "coordinator/request/score_kind.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/request/labels.h"

namespace scorecast::coordinator {
namespace score_kind_test {

using proto::ModelConfig;
using ::testing::ElementsAre;

const ModelConfig kLanguageModel = {.vocab_size = 300};
const ModelConfig kClassifier = {.vocab_size = 300, .num_labels = 3};

ScoreKind KindOf(const std::optional<std::string>& activation, bool apply_softmax,
                 const ModelConfig& config) {
  return ResolveScoreKind(activation, apply_softmax, config).value();
}

void ExpectRefused(const std::string& activation, bool apply_softmax, const ModelConfig& config,
                   const std::string& reason) {
  const auto kind = ResolveScoreKind(activation, apply_softmax, config);
  ASSERT_FALSE(kind.has_value());
  EXPECT_EQ(kind.error().code, 400);
  EXPECT_EQ(kind.error().reason, reason);
  EXPECT_EQ(kind.error().param, "activation");
}

TEST(ResolveScoreKind, OfALanguageModel) {
  EXPECT_EQ(KindOf({}, false, kLanguageModel), ScoreKind::kProbability);
  EXPECT_EQ(KindOf({}, true, kLanguageModel), ScoreKind::kSoftmax);
  for (const char* activation : {"none", "softmax", "sigmoid", "relu"}) {
    ExpectRefused(activation, false, kLanguageModel, "only_for_classifiers");
    ExpectRefused(activation, true, kLanguageModel, "only_for_classifiers");
  }
}

TEST(ResolveScoreKind, OfAClassifier) {
  EXPECT_EQ(KindOf({}, false, kClassifier), ScoreKind::kLogit);
  EXPECT_EQ(KindOf({}, true, kClassifier), ScoreKind::kSoftmax);
  EXPECT_EQ(KindOf("none", false, kClassifier), ScoreKind::kLogit);
  EXPECT_EQ(KindOf("softmax", false, kClassifier), ScoreKind::kSoftmax);
  EXPECT_EQ(KindOf("softmax", true, kClassifier), ScoreKind::kSoftmax);
  EXPECT_EQ(KindOf("sigmoid", false, kClassifier), ScoreKind::kSigmoid);
  ExpectRefused("none", true, kClassifier, "contradictory_activation");
  ExpectRefused("sigmoid", true, kClassifier, "contradictory_activation");
  for (const char* activation : {"", "relu", "Sigmoid", "\xff"}) {
    ExpectRefused(activation, false, kClassifier, "unknown_activation");
  }
}

TEST(KindOfClasses, FollowsTheProblemType) {
  using proto::ProblemType;
  const auto kind = [](std::int64_t num_labels, std::optional<ProblemType> type,
                       bool is_raw = false) {
    return KindOfClasses({.num_labels = num_labels, .problem_type = type}, is_raw);
  };
  for (const std::int64_t labels : {1, 3}) {
    EXPECT_EQ(kind(labels, std::nullopt), labels == 1 ? ScoreKind::kSigmoid : ScoreKind::kSoftmax);
    EXPECT_EQ(kind(labels, ProblemType::kMultiLabel), ScoreKind::kSigmoid);
    EXPECT_EQ(kind(labels, ProblemType::kRegression), ScoreKind::kLogit);
    EXPECT_EQ(kind(labels, ProblemType::kMultiLabel, /*is_raw=*/true), ScoreKind::kLogit);
  }
  EXPECT_EQ(kind(3, ProblemType::kSingleLabel), ScoreKind::kSoftmax);
}

TEST(ResolveLabels, OfAClassifierAreAllItsClasses) {
  const LabelLists classes = ResolveLabels({}, 2, nullptr, kClassifier).value();
  EXPECT_FALSE(classes.per_item);
  EXPECT_THAT(classes.lists, ElementsAre(ElementsAre(0, 1, 2)));

  const std::vector<TokenId> ids = {0};
  const auto of_ids = ResolveLabels({.ids = {{ids}}}, 2, nullptr, kClassifier);
  ASSERT_FALSE(of_ids.has_value());
  EXPECT_EQ(of_ids.error().reason, "not_for_classifiers");
  EXPECT_EQ(of_ids.error().param, "label_token_ids");
  const auto of_texts = ResolveLabels({.texts = {{" yes"}}}, 2, nullptr, kClassifier);
  ASSERT_FALSE(of_texts.has_value());
  EXPECT_EQ(of_texts.error().reason, "not_for_classifiers");
  EXPECT_EQ(of_texts.error().param, "labels");
}

}  // namespace score_kind_test
}  // namespace scorecast::coordinator
