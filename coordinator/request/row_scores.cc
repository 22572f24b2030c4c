#include "coordinator/request/row_scores.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace scorecast::coordinator {
namespace {

using proto::RowLogits;

double LogProbability(const RowLogits& row, float logit) {
  return static_cast<double>(logit) - static_cast<double>(row.max) - std::log(row.sum_exp);
}

std::vector<double> LabelLogProbabilities(const RowLogits& row) {
  std::vector<double> result;
  result.reserve(row.label_logits.size());
  for (const float logit : row.label_logits) {
    result.push_back(LogProbability(row, logit));
  }
  return result;
}

/// Computed from the logits even if log-probabilities are computed as well, so that no bit depends
/// on the response's other fields.
std::vector<double> Softmax(const std::vector<float>& logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  result.reserve(logits.size());
  double sum = 0;
  for (const float logit : logits) {
    result.push_back(std::exp((static_cast<double>(logit) - largest) / temperature));
    sum += result.back();
  }
  for (double& value : result) {
    value /= sum;
  }
  return result;
}

/// exp is taken of numbers up to 0, so that it cannot overflow.
double Sigmoid(double logit) {
  const double e = std::exp(-std::abs(logit));
  return (logit < 0 ? e : 1) / (1 + e);
}

/// The scores that follow from the labels' logits alone.
std::vector<double> LabelScores(const std::vector<float>& logits, const RowReadout& readout) {
  if (readout.kind == ScoreKind::kSoftmax) {
    return Softmax(logits, readout.temperature);
  }
  std::vector<double> result(logits.begin(), logits.end());
  if (readout.kind == ScoreKind::kSigmoid) {
    std::transform(result.begin(), result.end(), result.begin(), &Sigmoid);
  }
  return result;
}

std::vector<TokenLogprob> TopLogProbabilities(const RowLogits& row) {
  std::vector<TokenLogprob> result;
  result.reserve(row.top.size());
  for (const auto& [id, logit] : row.top) {
    result.emplace_back(id, LogProbability(row, logit));
  }
  // Different logits may have the same log-probability. Such tokens are ordered by id.
  std::sort(result.begin(), result.end(), [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return result;
}

bool AllFinite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

bool AllFinite(const std::vector<TokenLogprob>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const TokenLogprob& v) { return std::isfinite(v.second); });
}

/// Called before anything is sorted, because NaN has no place in an order.
bool LogitsAreFinite(const RowLogits& row) {
  return std::all_of(row.label_logits.begin(), row.label_logits.end(),
                     [](float v) { return std::isfinite(v); }) &&
         std::all_of(row.top.begin(), row.top.end(),
                     [](const auto& v) { return std::isfinite(v.second); });
}

}  // namespace

std::optional<RowScores> ScoresOfRow(const RowLogits& row, const RowReadout& readout) {
  if (!LogitsAreFinite(row)) {
    return std::nullopt;
  }
  RowScores result;
  if (readout.top_logprobs) {
    result.top_logprobs = TopLogProbabilities(row);
  }
  const bool are_probabilities = readout.scores && readout.kind == ScoreKind::kProbability;
  if (readout.token_logprobs || are_probabilities) {
    std::vector<double> logprobs = LabelLogProbabilities(row);
    if (!AllFinite(logprobs)) {
      return std::nullopt;
    }
    if (are_probabilities) {
      result.scores.reserve(logprobs.size());
      std::transform(logprobs.begin(), logprobs.end(), std::back_inserter(result.scores),
                     [](double logprob) { return std::exp(logprob); });
    }
    if (readout.token_logprobs) {
      result.token_logprobs = std::move(logprobs);
    }
  }
  if (readout.scores && !are_probabilities) {
    result.scores = LabelScores(row.label_logits, readout);
  }
  if (!AllFinite(result.scores) || !AllFinite(result.top_logprobs)) {
    return std::nullopt;
  }
  return result;
}

proto::Error NotFinite(const std::string& field) {
  return {500, "not_finite",
          "The model's output for " + field + " is not finite: its checkpoint may be broken.",
          field};
}

}  // namespace scorecast::coordinator
