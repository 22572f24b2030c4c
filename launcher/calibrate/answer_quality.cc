#include "launcher/calibrate/answer_quality.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace scorecast::launcher {
namespace {

std::size_t BinOf(double probability) {
  const double bin = std::ceil(probability * static_cast<double>(kReliabilityBins)) - 1;
  return static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(kReliabilityBins - 1)));
}

}  // namespace

AnswerQuality QualityOf(const LabelledAnswers& answers, const Temperatures& temperatures) {
  AnswerQuality quality;
  quality.number = answers.size();
  if (answers.empty()) {
    return quality;
  }
  std::size_t right = 0;
  std::array<std::size_t, kReliabilityBins> right_of_bin{};
  for (const LabelledAnswer* answer : answers) {
    const std::vector<double> probabilities =
        ProbabilitiesAt(temperatures[static_cast<std::size_t>(answer->group)], answer->logits);
    const auto best = std::ranges::max_element(probabilities);
    const bool is_right =
        best - probabilities.begin() == static_cast<std::ptrdiff_t>(answer->right);
    quality.loss -=
        std::log(std::max(probabilities[answer->right], std::numeric_limits<double>::denorm_min()));
    const std::size_t index = BinOf(*best);
    ReliabilityBin& bin = quality.bins[index];
    ++bin.number;
    bin.probability += *best;
    right += is_right ? 1 : 0;
    right_of_bin[index] += is_right ? 1 : 0;
  }
  const auto number = static_cast<double>(answers.size());
  quality.accuracy = static_cast<double>(right) / number;
  quality.loss /= number;
  for (std::size_t i = 0; i < kReliabilityBins; ++i) {
    ReliabilityBin& bin = quality.bins[i];
    if (bin.number > 0) {
      const auto of_bin = static_cast<double>(bin.number);
      bin.probability /= of_bin;
      bin.accuracy = static_cast<double>(right_of_bin[i]) / of_bin;
      quality.calibration_error += of_bin / number * std::abs(bin.accuracy - bin.probability);
    }
  }
  return quality;
}

}  // namespace scorecast::launcher
