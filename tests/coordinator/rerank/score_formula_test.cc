// Formulas as templates write them, and what they make of logits.

#include "coordinator/rerank/score_formula.h"

#include <array>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace score_formula_test {

constexpr std::array<float, 2> kLogits = {3, 1};

double ScoreOf(const std::string& formula) { return ScoreFormula::Parse(formula)->Score(kLogits); }

TEST(ScoreFormula, ReadsWhatItWrites) {
  for (const std::string text :
       {"true", "true - false", "true / 5", "(true - false) / 2.5", "sigmoid(true)",
        "sigmoid(true - false)", "sigmoid(true / 5)", "sigmoid((true - false) / 2)"}) {
    ASSERT_TRUE(ScoreFormula::Parse(text)) << text;
    EXPECT_EQ(ScoreFormula::Parse(text)->Text(), text);
  }
  EXPECT_EQ(ScoreFormula::Parse(" sigmoid( true-false ) ")->Text(), "sigmoid(true - false)");
}

TEST(ScoreFormula, RefusesWhatItCannotCompute) {
  for (const char* text :
       {"", "false", "false - true", "true + false", "true -", "sigmoid(true", "true)", "(true",
        "true - false / 2", "true / 0", "true / -1", "true / x", "true / nan", "true / inf",
        "softmax(true)", "sigmoid(sigmoid(true))", "true / 5 / 5", "true / 1e999"}) {
    EXPECT_FALSE(ScoreFormula::Parse(text)) << text;
  }
}

TEST(ScoreFormula, ComputesScores) {
  EXPECT_DOUBLE_EQ(ScoreOf("true"), 3);
  EXPECT_DOUBLE_EQ(ScoreOf("true - false"), 2);
  EXPECT_DOUBLE_EQ(ScoreOf("true / 5"), 0.6);
  EXPECT_DOUBLE_EQ(ScoreOf("(true - false) / 4"), 0.5);
  EXPECT_DOUBLE_EQ(ScoreOf("sigmoid(true - false)"), std::exp(3) / (std::exp(3) + std::exp(1)));
  EXPECT_DOUBLE_EQ(ScoreOf("sigmoid(true / 5)"), 1 / (1 + std::exp(-0.6)));
  EXPECT_EQ(ScoreFormula::OfHead().Text(), "sigmoid(true)");
}

TEST(ScoreFormula, RawScoresHaveNeitherSigmoidNorDivisor) {
  EXPECT_DOUBLE_EQ(ScoreFormula::Parse("sigmoid(true / 5)")->RawScore(kLogits), 3);
  EXPECT_DOUBLE_EQ(ScoreFormula::Parse("sigmoid(true - false)")->RawScore(kLogits), 2);
}

// Documents are ordered by raw scores, so scores must never have another order.
TEST(ScoreFormula, ScoresHaveTheOrderOfRawScores) {
  for (const std::string text : {"true", "true - false", "true / 5", "(true - false) / 1e-3",
                                 "sigmoid(true)", "sigmoid((true - false) / 3)"}) {
    const ScoreFormula formula = *ScoreFormula::Parse(text);
    std::array<float, 2> before = {-1000, 0.5F};
    for (const float logit : {-900.0F, -800.5F, -40.0F, -0.1F, 0.0F, 36.0F, 40.0F, 41.0F, 900.0F}) {
      const std::array<float, 2> now = {logit, 0.5F};
      EXPECT_LT(formula.RawScore(before), formula.RawScore(now)) << text;
      EXPECT_LE(formula.Score(before), formula.Score(now)) << text;
      before = now;
    }
  }
  const ScoreFormula sigmoid = *ScoreFormula::Parse("sigmoid(true)");
  EXPECT_EQ(sigmoid.Score(std::array<float, 1>{40}), sigmoid.Score(std::array<float, 1>{41}));
}

TEST(ScoreFormula, AnActivationReplacesSigmoidAndDivisor) {
  const ScoreFormula zerank = *ScoreFormula::Parse("sigmoid(true / 5)");
  EXPECT_EQ(zerank.WithActivation(false).Text(), "true");
  EXPECT_EQ(zerank.WithActivation(true).Text(), "sigmoid(true)");
  EXPECT_EQ(zerank.WithFalse(true).Text(), "sigmoid((true - false) / 5)");
}

TEST(ScoreFormula, LargeLogitsStayBetweenZeroAndOne) {
  const ScoreFormula formula = *ScoreFormula::Parse("sigmoid(true - false)");
  EXPECT_EQ(formula.Score(std::array<float, 2>{3e38F, -3e38F}), 1);
  EXPECT_EQ(formula.Score(std::array<float, 2>{-3e38F, 3e38F}), 0);
  EXPECT_TRUE(std::isnan(formula.Score(std::array<float, 2>{NAN, 0})));
}

}  // namespace score_formula_test
}  // namespace scorecast::coordinator
