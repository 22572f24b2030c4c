#include "launcher/calibrate/calibration.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace scorecast::launcher {
namespace {

/// Enough halvings of the interval of log T for all bits of a double.
constexpr int kSteps = 64;

/// The derivative of the answers' summed loss by 1 / T: the mean logit under the model's
/// probabilities less the right option's. It grows with 1 / T, so the loss has one minimum.
double Slope(const LabelledAnswers& answers, double temperature) {
  double slope = 0;
  for (const LabelledAnswer* answer : answers) {
    const std::vector<double> probabilities = ProbabilitiesAt(temperature, answer->logits);
    double difference = 0;
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      difference += probabilities[i] * (answer->logits[i] - answer->logits[answer->right]);
    }
    slope += difference;
  }
  return slope;
}

/// Digits beyond the sixth mean nothing, and may differ between C libraries.
double Rounded(double number) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.6g", number);
  return std::strtod(digits.data(), nullptr);
}

struct Parts {
  LabelledAnswers fitted;
  LabelledAnswers held_out;

  void Add(const LabelledAnswer& answer) {
    (answer.is_held_out ? held_out : fitted).push_back(&answer);
  }
};

void Measure(const Parts& parts, const Temperatures& before, const Temperatures& after,
             CalibratedGroup& group) {
  group.fitted_on = parts.fitted.size();
  group.before = QualityOf(parts.held_out, before);
  group.after = QualityOf(parts.held_out, after);
}

}  // namespace

std::optional<double> BestTemperature(const LabelledAnswers& answers) {
  if (Slope(answers, kLowestTemperature) <= 0 || Slope(answers, kHighestTemperature) >= 0) {
    return std::nullopt;
  }
  double low = std::log(kLowestTemperature);
  double high = std::log(kHighestTemperature);
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    (Slope(answers, std::exp(middle)) > 0 ? low : high) = middle;
  }
  return Rounded(std::exp((low + high) / 2));
}

CalibrationResult Calibration::Run(const Temperatures& present) const {
  Parts all;
  std::array<Parts, kTemperatureGroups> parts;
  for (const auto& [place, answer] : answers_) {
    all.Add(answer);
    parts[static_cast<std::size_t>(answer.group)].Add(answer);
  }
  CalibrationResult result;
  result.temperatures = present;
  for (std::size_t i = 0; i < kTemperatureGroups; ++i) {
    CalibratedGroup& group = result.groups[i];
    if (parts[i].fitted.size() < kFewestAnswers) {
      group.outcome = CalibratedGroup::Outcome::kTooFew;
    } else if (const std::optional<double> best = BestTemperature(parts[i].fitted)) {
      result.temperatures[i] = *best;
    } else {
      group.outcome = CalibratedGroup::Outcome::kNoBest;
    }
  }
  for (std::size_t i = 0; i < kTemperatureGroups; ++i) {
    Measure(parts[i], present, result.temperatures, result.groups[i]);
  }
  Measure(all, present, result.temperatures, result.all);
  return result;
}

}  // namespace scorecast::launcher
