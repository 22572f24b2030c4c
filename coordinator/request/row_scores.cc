#include "coordinator/request/row_scores.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace scorecast::coordinator {
namespace {

using proto::RowLogits;

/// `log_sum`: the logarithm of `row.sum_exp`, which takes longer than all else here.
double LogProbability(const RowLogits& row, double log_sum, float logit) {
  return static_cast<double>(logit) - static_cast<double>(row.max) - log_sum;
}

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

std::optional<std::vector<double>> IfFinite(std::vector<double> values) {
  const bool are_finite = std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
  return are_finite ? std::optional(std::move(values)) : std::nullopt;
}

}  // namespace

bool LogitsAreFinite(const RowLogits& row) {
  return std::ranges::all_of(row.label_logits, [](float logit) { return std::isfinite(logit); }) &&
         std::ranges::all_of(row.top, [](const auto& one) { return std::isfinite(one.second); });
}

std::optional<std::vector<double>> ScoresOfRow(const RowLogits& row, ScoreKind kind,
                                               double temperature) {
  if (kind == ScoreKind::kProbability) {
    std::optional<std::vector<double>> scores = LogprobsOfRow(row);
    if (!scores) {
      return std::nullopt;
    }
    std::ranges::transform(*scores, scores->begin(),
                           [](double logprob) { return std::exp(logprob); });
    return IfFinite(*std::move(scores));
  }
  if (!LogitsAreFinite(row)) {
    return std::nullopt;
  }
  if (kind == ScoreKind::kSoftmax) {
    return IfFinite(Softmax(row.label_logits, temperature));
  }
  std::vector<double> scores(row.label_logits.begin(), row.label_logits.end());
  if (kind == ScoreKind::kSigmoid) {
    std::ranges::transform(scores, scores.begin(), &Sigmoid);
  }
  return IfFinite(std::move(scores));
}

std::optional<std::vector<double>> LogprobsOfRow(const RowLogits& row) {
  if (!LogitsAreFinite(row)) {
    return std::nullopt;
  }
  std::vector<double> logprobs;
  logprobs.reserve(row.label_logits.size());
  const double log_sum = std::log(row.sum_exp);
  for (const float logit : row.label_logits) {
    logprobs.push_back(LogProbability(row, log_sum, logit));
  }
  return IfFinite(std::move(logprobs));
}

std::optional<std::vector<TokenLogprob>> TopLogprobsOfRow(const RowLogits& row) {
  if (!LogitsAreFinite(row)) {
    return std::nullopt;  // NaN has no place in an order.
  }
  std::vector<TokenLogprob> top;
  top.reserve(row.top.size());
  const double log_sum = std::log(row.sum_exp);
  for (const auto& [id, logit] : row.top) {
    top.emplace_back(id, LogProbability(row, log_sum, logit));
  }
  // Different logits may have the same log-probability. Such tokens are ordered by id.
  std::ranges::sort(top, [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  const bool are_finite =
      std::ranges::all_of(top, [](const TokenLogprob& one) { return std::isfinite(one.second); });
  return are_finite ? std::optional(std::move(top)) : std::nullopt;
}

proto::Error NotFinite(const std::string& field) {
  return {500, "not_finite",
          "The model's output for " + field + " is not finite: its checkpoint may be broken.",
          field};
}

}  // namespace scorecast::coordinator
