#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shard/kernels/attention_kernels.h"
#include "tests/shard/rounding.h"

namespace scorecast::testing {

/// One visible key of a row and its value, both [head_dim].
struct VisibleKey {
  const float* key = nullptr;
  const float* value = nullptr;
};

/// softmax(query · Kᵀ · scale) · V of one row in float64, and the most by which the kernels'
/// float32 result may differ from it.
struct SoftmaxRow {
  std::vector<double> output;     ///< [head_dim]
  std::vector<double> tolerance;  ///< [head_dim]
  double log_sum = 0;             ///< ln Σ exp(score)
  double log_sum_tolerance = 0;
};

/// `query` is already scaled; it and the keys and values are rounded as the kernel sees them.
/// `tiles` is the number of tiles of keys in the row's reduction, in any number of spans.
/// `weight_roundoff` is the relative rounding error of the weights that multiply the values; their
/// sum does not have it. `softcap`: see AttentionTile.
inline SoftmaxRow SoftmaxOf(std::span<const float> query, std::span<const VisibleKey> keys,
                            std::int64_t tiles, double weight_roundoff, float softcap = 0) {
  const std::size_t head_dim = query.size();
  std::vector<double> score(keys.size());
  std::vector<double> score_error(keys.size());
  double top = -INFINITY;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    double sizes = 0;
    for (std::size_t d = 0; d < head_dim; ++d) {
      const double product = static_cast<double>(query[d]) * keys[i].key[d];
      score[i] += product;
      sizes += std::abs(product);
    }
    // A product, then the additions one after the other. The CPU may flush any of the results to
    // zero.
    score_error[i] = sizes * Gamma(1 + static_cast<std::int64_t>(head_dim)) +
                     static_cast<double>(head_dim) * kSmallestNormal;
    if (softcap != 0) {
      // tanh has a slope of at most 1.
      score_error[i] *= softcap;
      score[i] = softcap * std::tanh(score[i]);
      score_error[i] += std::abs(score[i]) * (kTanhError + kUnitRoundoff);
    }
    top = std::max(top, score[i]);
  }
  std::vector<double> weight(keys.size());
  double sum = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    weight[i] = std::exp(score[i] - top);
    sum += weight[i];
  }
  // One multiplication and one addition for each key, a factor for each tile, and the final
  // quotient. A span is added to the spans before it by a multiplication and an addition, too. For
  // the sums before it they take the place of the operations of its own keys, and for its own sums
  // of those of the keys before it.
  const double sum_error = Gamma(2 * static_cast<std::int64_t>(keys.size()) + tiles + 2);
  SoftmaxRow row{std::vector<double>(head_dim), std::vector<double>(head_dim)};
  double weights_error = 0;  // Relative error of the denominator.
  std::vector<double> weight_error(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    weight[i] /= sum;
    // A weight is exp(score - maximum so far) times one exp for each later increase of the maximum:
    // at most one for each later tile or span, and one when its own span is added. The arguments
    // add up to last maximum - score, which is at most top - score. The first may be above 0 by
    // kMaximumSlack, which the later ones, all below 0, make up for. So the sizes of the arguments
    // add up to at most top - score + 2 · kMaximumSlack, and each is rounded.
    weight_error[i] =
        weight[i] * (score_error[i] + (top - score[i] + 2 * shard::kMaximumSlack) * kUnitRoundoff +
                     static_cast<double>(tiles + 1) * kExpError) +
        kExpFloor;
    weights_error += weight_error[i];
  }
  for (std::size_t d = 0; d < head_dim; ++d) {
    double sizes = 0;
    double error = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const double value = keys[i].value[d];
      row.output[d] += weight[i] * value;
      sizes += weight[i] * std::abs(value);
      error += weight_error[i] * std::abs(value);
    }
    error += std::abs(row.output[d]) * weights_error;
    error += sizes * weight_roundoff + static_cast<double>(keys.size()) * kSmallestNormal;
    // All errors are to first order; one hundredth more covers the higher orders.
    row.tolerance[d] = 1.01 * (error + 2 * sizes * sum_error);
  }
  row.log_sum = top + std::log(sum);
  // To first order, the error of the largest score plus that of the sum.
  row.log_sum_tolerance = 1.01 * (*std::max_element(score_error.begin(), score_error.end()) +
                                  weights_error + sum_error);
  return row;
}

/// Two softmaxes merged with the weights softmax(ln Σ exp(score) of the first, `temperature` · that
/// of the second + ln `scale`), and the tolerance of the kernels' float32.
inline SoftmaxRow MergedSoftmax(const SoftmaxRow& first, const SoftmaxRow& second,
                                double temperature, double scale) {
  const double first_weight = first.log_sum;
  const double second_weight = temperature * second.log_sum + std::log(scale);
  const double part = 1 / (1 + std::exp(second_weight - first_weight));
  // d(part) = part (1 - part) d(difference).
  const double part_error =
      part * (1 - part) * (first.log_sum_tolerance + temperature * second.log_sum_tolerance);
  SoftmaxRow merged = first;
  for (std::size_t d = 0; d < merged.output.size(); ++d) {
    const double a = first.output[d];
    const double b = second.output[d];
    merged.output[d] = part * a + (1 - part) * b;
    merged.tolerance[d] =
        1.01 * (part * first.tolerance[d] + (1 - part) * second.tolerance[d] +
                part_error * std::abs(a - b) +
                // A factor, a product and a sum.
                3 * kUnitRoundoff * (part * std::abs(a) + (1 - part) * std::abs(b)));
  }
  return merged;
}

}  // namespace scorecast::testing
