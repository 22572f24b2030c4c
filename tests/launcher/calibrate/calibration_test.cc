#include "launcher/calibrate/calibration.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace calibration_test {

constexpr Temperatures kPresent = {1, 2, 3, 4, 5, 6};

/// From 0 to 1, the same with every standard library.
double Uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// Answers whose labels are drawn at the temperature.
std::vector<LabelledAnswer> Drawn(TemperatureGroup group, std::size_t options, std::size_t number,
                                  double temperature, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<LabelledAnswer> answers(number);
  for (LabelledAnswer& answer : answers) {
    answer.group = group;
    for (std::size_t i = 0; i < options; ++i) {
      answer.logits.push_back(12 * Uniform(random) - 6);
    }
    double left = Uniform(random);
    for (const double probability : ProbabilitiesAt(temperature, answer.logits)) {
      left -= probability;
      if (left < 0 || answer.right + 1 == options) {
        break;
      }
      ++answer.right;
    }
    answer.is_held_out = random() % 2 == 1;
  }
  return answers;
}

LabelledAnswers PointersTo(const std::vector<LabelledAnswer>& answers) {
  LabelledAnswers pointers;
  for (const LabelledAnswer& answer : answers) {
    pointers.push_back(&answer);
  }
  return pointers;
}

/// Standard deviation of the temperature of least loss. The loss has the curvature Σ Var(z) by
/// 1 / T, and T changes by T² for a change of 1 / T.
double Deviation(const std::vector<LabelledAnswer>& answers, double temperature) {
  double information = 0;
  for (const LabelledAnswer& answer : answers) {
    const std::vector<double> probabilities = ProbabilitiesAt(temperature, answer.logits);
    double mean = 0;
    double square = 0;
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      mean += probabilities[i] * answer.logits[i];
      square += probabilities[i] * answer.logits[i] * answer.logits[i];
    }
    information += square - mean * mean;
  }
  return temperature * temperature / std::sqrt(information);
}

TEST(Calibration, FindsTheTemperatureAtWhichLabelsWereDrawn) {
  std::uint64_t seed = 0;
  for (const std::size_t options : {2, 4, 26, 255}) {
    for (const double temperature : {0.3, 1.0, 4.0}) {
      const std::vector<LabelledAnswer> answers =
          Drawn(ChoiceGroup(options), options, 500, temperature, ++seed);
      const std::optional<double> best = BestTemperature(PointersTo(answers));
      ASSERT_TRUE(best) << options << " " << temperature;
      EXPECT_NEAR(*best, temperature, 4 * Deviation(answers, temperature)) << options;
    }
  }
}

TEST(Calibration, NoTemperatureHasTheLeastLossOfWhatIsAllRightOrWrong) {
  std::vector<LabelledAnswer> answers = Drawn(TemperatureGroup::kNoul, 2, 100, 1, 7);
  for (LabelledAnswer& answer : answers) {
    answer.right = answer.logits[0] > answer.logits[1] ? 0 : 1;
  }
  EXPECT_FALSE(BestTemperature(PointersTo(answers)));
  for (LabelledAnswer& answer : answers) {
    answer.right = 1 - answer.right;
  }
  EXPECT_FALSE(BestTemperature(PointersTo(answers)));
}

TEST(Calibration, FitsGroupsByThemselvesAndKeepsThoseOfFewAnswers) {
  Calibration calibration;
  const auto add = [&](std::int64_t line, std::vector<LabelledAnswer> answers, bool is_held_out) {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      answers[i].is_held_out = is_held_out;
      calibration.Add(line, i, answers[i]);
    }
  };
  add(1, Drawn(TemperatureGroup::kNoul, 2, 1000, 2, 1), false);
  add(2, Drawn(TemperatureGroup::kNoul, 2, 1000, 2, 2), true);
  add(3, Drawn(TemperatureGroup::kScore, 5, kFewestAnswers - 1, 2, 3), false);
  add(4, Drawn(TemperatureGroup::kScore, 5, 1000, 2, 4), true);
  add(5, Drawn(TemperatureGroup::kChoice2, 2, kFewestAnswers, 1, 5), false);
  const CalibrationResult result = calibration.Run(kPresent);
  EXPECT_NEAR(result.temperatures[0], 2, 0.5);
  EXPECT_NE(result.temperatures[1], 2);
  for (std::size_t i = 2; i < kTemperatureGroups; ++i) {
    EXPECT_EQ(result.temperatures[i], kPresent[i]);
    EXPECT_EQ(result.groups[i].outcome, CalibratedGroup::Outcome::kTooFew);
  }
  EXPECT_EQ(result.groups[0].fitted_on, 1000U);
  EXPECT_EQ(result.groups[0].before.number, 1000U);
  EXPECT_LT(result.groups[0].after.loss, result.groups[0].before.loss);
  EXPECT_LT(result.groups[0].after.calibration_error, result.groups[0].before.calibration_error);
  EXPECT_EQ(result.groups[0].after.accuracy, result.groups[0].before.accuracy);
  EXPECT_EQ(result.groups[5].before.loss, result.groups[5].after.loss);
  EXPECT_EQ(result.all.fitted_on, 1000 + kFewestAnswers - 1 + kFewestAnswers);
  EXPECT_EQ(result.all.after.number, 2000U);
}

TEST(Calibration, HasTheSameBitsInWhateverOrderAnswersCome) {
  std::vector<std::pair<std::int64_t, LabelledAnswer>> answers;
  for (const std::size_t options : {2, 4, 9}) {
    for (LabelledAnswer& answer : Drawn(ChoiceGroup(options), options, 500, 1.5, options)) {
      answers.emplace_back(static_cast<std::int64_t>(answers.size() / 3), std::move(answer));
    }
  }
  std::vector<std::size_t> order(answers.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const auto run = [&] {
    Calibration calibration;
    for (const std::size_t i : order) {
      calibration.Add(answers[i].first, i % 3, answers[i].second);
    }
    return calibration.Run(kPresent);
  };
  const CalibrationResult first = run();
  std::mt19937_64 random(1);
  for (int i = 0; i < 3; ++i) {
    std::ranges::shuffle(order, random);
    const CalibrationResult other = run();
    EXPECT_EQ(TemperatureLine(other.temperatures), TemperatureLine(first.temperatures));
    EXPECT_EQ(other.all.after.loss, first.all.after.loss);
    EXPECT_EQ(other.all.after.calibration_error, first.all.after.calibration_error);
  }
}

}  // namespace calibration_test
}  // namespace scorecast::launcher
