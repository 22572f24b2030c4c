#include "coordinator/decisions/decision_formulas.h"

#include <algorithm>
#include <cmath>

namespace scorecast::coordinator {
namespace {

double LogSumExp(std::span<const double> values) {
  const double largest = *std::ranges::max_element(values);
  double sum = 0;
  for (const double value : values) {
    sum += std::exp(value - largest);
  }
  return largest + std::log(sum);
}

void Normalize(std::vector<double>& log_probabilities) {
  const double all = LogSumExp(log_probabilities);
  for (double& value : log_probabilities) {
    value -= all;
  }
}

}  // namespace

std::vector<double> LabelLogProbabilities(std::span<const float> logits,
                                          std::span<const std::size_t> spellings,
                                          double temperature) {
  std::vector<double> labels(logits.begin(), logits.end());
  if (!spellings.empty()) {
    std::vector<double> summed;
    std::size_t first = 0;
    for (const std::size_t count : spellings) {
      summed.push_back(LogSumExp(std::span(labels).subspan(first, count)));
      first += count;
    }
    labels = std::move(summed);
  }
  for (double& label : labels) {
    label /= temperature;
  }
  Normalize(labels);
  return labels;
}

double LabelMass(const proto::RowLogits& row) {
  double sum = 0;
  for (const float logit : row.label_logits) {
    sum += std::exp(static_cast<double>(logit) - static_cast<double>(row.max));
  }
  return sum / row.sum_exp;
}

std::vector<double> MeanLogProbabilities(std::span<const double> first,
                                         std::span<const double> second) {
  std::vector<double> mean;
  mean.reserve(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    mean.push_back((first[i] + second[i]) / 2);
  }
  Normalize(mean);
  return mean;
}

std::vector<double> ProbabilitiesOf(std::span<const double> log_probabilities) {
  std::vector<double> probabilities;
  probabilities.reserve(log_probabilities.size());
  for (const double value : log_probabilities) {
    probabilities.push_back(std::exp(value));
  }
  return probabilities;
}

std::size_t LargestOf(std::span<const double> probabilities) {
  return static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

double ChoiceConfidence(std::span<const double> probabilities) {
  const auto n = static_cast<double>(probabilities.size());
  if (probabilities.size() < 2) {
    return 1;
  }
  const double largest = probabilities[LargestOf(probabilities)];
  return std::clamp((n * largest - 1) / (n - 1), 0.0, 1.0);
}

double ExpectedLevel(std::span<const double> probabilities) {
  double level = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    level += static_cast<double>(i) * probabilities[i];
  }
  return level;
}

double ScoreConfidence(std::span<const double> probabilities) {
  if (probabilities.size() < 2) {
    return 1;
  }
  const auto n = static_cast<double>(probabilities.size());
  const auto mode = static_cast<double>(LargestOf(probabilities));
  double distance = 0;
  double of_center = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const auto level = static_cast<double>(i);
    distance += probabilities[i] * std::abs(level - mode);
    of_center += std::abs(level - (n - 1) / 2) / n;
  }
  return std::max(0.0, 1 - distance / of_center);
}

}  // namespace scorecast::coordinator
