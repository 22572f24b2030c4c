#include "tests/reference/log_probabilities.h"

#include <algorithm>
#include <cmath>

namespace scorecast::reference {

std::vector<double> LogSoftmax(std::span<const double> logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) {
    sum += std::exp(logit - max);
  }
  std::vector<double> result;
  result.reserve(logits.size());
  for (const double logit : logits) {
    result.push_back(logit - max - std::log(sum));
  }
  return result;
}

std::vector<std::pair<proto::TokenId, double>> Top(std::span<const double> values, std::size_t k) {
  std::vector<std::pair<proto::TokenId, double>> all;
  all.reserve(values.size());
  for (std::size_t id = 0; id < values.size(); ++id) {
    all.emplace_back(static_cast<proto::TokenId>(id), values[id]);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  all.resize(std::min(k, all.size()));
  return all;
}

}  // namespace scorecast::reference
