// Fixtures are answers that the hosted service, its adapter and its clients have published.

#include "coordinator/decisions/decision_formulas.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace decision_formulas_test {

using Numbers = std::vector<double>;

TEST(DecisionFormulas, ConfidenceOfAChoice) {
  EXPECT_NEAR(ChoiceConfidence(Numbers{.88, .12}), .76, 1e-12);
  EXPECT_NEAR(ChoiceConfidence(Numbers{.95, .05}), .90, 1e-12);
  EXPECT_NEAR(ChoiceConfidence(Numbers{.88, .12, 0}), .82, 1e-12);
  EXPECT_NEAR(ChoiceConfidence(Numbers{.1, .8, .1}), .70, 1e-12);
  EXPECT_EQ(ChoiceConfidence(Numbers{1}), 1);
  EXPECT_EQ(ChoiceConfidence(Numbers{.25, .25, .25, .25}), 0);
}

TEST(DecisionFormulas, ConfidenceOfAScore) {
  // n = 3 with the mode in the middle: 1 - .2 / (2/3).
  EXPECT_NEAR(ScoreConfidence(Numbers{.1, .8, .1}), .7, 1e-12);
  // n = 5, mode 0: the mean distance from the middle is 1.2.
  EXPECT_NEAR(ScoreConfidence(Numbers{.7, .2, .1, 0, 0}), 1 - .4 / 1.2, 1e-12);
  EXPECT_EQ(ScoreConfidence(Numbers{.5, 0, 0, 0, .5}), 0) << "at least 0";
  EXPECT_EQ(ScoreConfidence(Numbers{1}), 1);
  EXPECT_EQ(ScoreConfidence(Numbers{0, 1}), 1);
}

TEST(DecisionFormulas, TheScoreIsTheExpectedLevelFromZero) {
  EXPECT_NEAR(ExpectedLevel(Numbers{.1, .2, .7}), 1.6, 1e-12);
  EXPECT_EQ(ExpectedLevel(Numbers{1}), 0);
}

TEST(DecisionFormulas, TheFirstOfEqualsIsChosen) { EXPECT_EQ(LargestOf(Numbers{.2, .4, .4}), 1U); }

TEST(DecisionFormulas, ASoftmaxDividesByTheTemperature) {
  const std::vector<float> logits = {2, 0};
  const Numbers plain = ProbabilitiesOf(LabelLogProbabilities(logits, {}, 1));
  EXPECT_NEAR(plain[0], 1 / (1 + std::exp(-2.0)), 1e-15);
  const Numbers warm = ProbabilitiesOf(LabelLogProbabilities(logits, {}, 4));
  EXPECT_NEAR(warm[0], 1 / (1 + std::exp(-0.5)), 1e-15);
  EXPECT_NEAR(warm[0] + warm[1], 1, 1e-15);
}

TEST(DecisionFormulas, ProbabilitiesOfSpellingsAreSummed) {
  const std::vector<float> logits = {1, 2, 0, -1};
  const std::vector<std::size_t> spellings = {2, 2};
  const double yes = std::exp(1.0) + std::exp(2.0);
  const double no = 1 + std::exp(-1.0);
  const Numbers both = ProbabilitiesOf(LabelLogProbabilities(logits, spellings, 1));
  ASSERT_EQ(both.size(), 2U);
  EXPECT_NEAR(both[0], yes / (yes + no), 1e-15);
}

TEST(DecisionFormulas, LargeLogitsDoNotOverflow) {
  const std::vector<float> logits = {3e38F, -3e38F};
  EXPECT_EQ(ProbabilitiesOf(LabelLogProbabilities(logits, {}, 1)), (Numbers{1, 0}));
}

TEST(DecisionFormulas, TheMeanOfTwoOrdersIsThatOfLogProbabilities) {
  const Numbers first = {std::log(.9), std::log(.1)};
  const Numbers second = {std::log(.5), std::log(.5)};
  const double a = std::sqrt(.9 * .5);
  const double b = std::sqrt(.1 * .5);
  EXPECT_NEAR(ProbabilitiesOf(MeanLogProbabilities(first, second))[0], a / (a + b), 1e-15);
}

}  // namespace decision_formulas_test
}  // namespace scorecast::coordinator
