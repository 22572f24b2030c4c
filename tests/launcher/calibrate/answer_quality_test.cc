#include "launcher/calibrate/answer_quality.h"

#include <cmath>

#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace answer_quality_test {

constexpr Temperatures kOnes = {1, 1, 1, 1, 1, 1};

AnswerQuality Measured(const std::vector<LabelledAnswer>& answers,
                       const Temperatures& temperatures = kOnes) {
  LabelledAnswers all;
  for (const LabelledAnswer& answer : answers) {
    all.push_back(&answer);
  }
  return QualityOf(all, temperatures);
}

LabelledAnswer Noul(double probability, bool label) {
  return {.group = TemperatureGroup::kNoul,
          .logits = LogitsOfNoul(probability, 1),
          .right = label ? std::size_t{0} : std::size_t{1}};
}

TEST(AnswerQuality, IsThatOfBinsMadeByHand) {
  const AnswerQuality quality = Measured({
      // (0.6667, 0.7333]: mean 0.70, one of two right.
      Noul(0.68, true),
      Noul(0.28, true),
      // (0.8667, 0.9333]: mean 0.9, three of four right.
      Noul(0.9, true),
      Noul(0.9, true),
      Noul(0.1, false),
      Noul(0.9, false),
  });
  EXPECT_EQ(quality.number, 6U);
  EXPECT_NEAR(quality.accuracy, 4.0 / 6, 1e-12);
  EXPECT_NEAR(quality.loss,
              -(std::log(0.68) + std::log(0.28) + 3 * std::log(0.9) + std::log(0.1)) / 6, 1e-12);
  EXPECT_EQ(quality.bins[10].number, 2U);
  EXPECT_NEAR(quality.bins[10].probability, 0.70, 1e-12);
  EXPECT_NEAR(quality.bins[10].accuracy, 0.5, 1e-12);
  EXPECT_EQ(quality.bins[13].number, 4U);
  EXPECT_NEAR(quality.bins[13].probability, 0.9, 1e-12);
  EXPECT_NEAR(quality.calibration_error, 2.0 / 6 * 0.2 + 4.0 / 6 * 0.15, 1e-12);
}

TEST(AnswerQuality, ACertainAnswerIsInTheLastBinAndTheFirstOfEqualsCounts) {
  const AnswerQuality quality = Measured({Noul(1, true), Noul(0.5, true), Noul(0.5, false)});
  EXPECT_EQ(quality.bins[14].number, 1U);
  EXPECT_EQ(quality.bins[7].number, 2U);
  EXPECT_NEAR(quality.accuracy, 2.0 / 3, 1e-12);
}

TEST(AnswerQuality, EachGroupHasItsTemperature) {
  LabelledAnswer score = Noul(0.9, true);
  score.group = TemperatureGroup::kScore;
  Temperatures temperatures = kOnes;
  temperatures[static_cast<std::size_t>(TemperatureGroup::kScore)] = 2;
  EXPECT_NEAR(Measured({score}, temperatures).loss, std::log(1 + std::sqrt(1.0 / 9)), 1e-12);
  EXPECT_NEAR(Measured({Noul(0.9, true)}, temperatures).loss, -std::log(0.9), 1e-12);
}

TEST(AnswerQuality, OfNoAnswersIsZero) {
  EXPECT_EQ(Measured({}).number, 0U);
  EXPECT_EQ(Measured({}).calibration_error, 0);
}

}  // namespace answer_quality_test
}  // namespace scorecast::launcher
