#include "tests/reference/reference_head.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace scorecast::reference {
namespace {

using proto::HeadActivation;
using proto::Pooling;
using Values = std::vector<double>;

Values Pool(Pooling pooling, const std::vector<Values>& rows) {
  if (pooling == Pooling::kCls) {
    return rows.front();
  }
  if (pooling == Pooling::kLast) {
    return rows.back();
  }
  Values pooled(rows.front().size());
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    double sum = 0;
    double max = rows.front()[i];
    for (const Values& row : rows) {
      sum += row[i];
      max = std::max(max, row[i]);
    }
    pooled[i] = pooling == Pooling::kMean ? sum / static_cast<double>(rows.size()) : max;
  }
  return pooled;
}

double Activate(HeadActivation activation, double x) {
  switch (activation) {
    case HeadActivation::kTanh:
      return std::tanh(x);
    case HeadActivation::kRelu:
      return std::max(x, 0.0);
    case HeadActivation::kGelu:
      return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case HeadActivation::kGeluTanh:
      return x / (1 + std::exp(-2 * 0.7978845608028654 * (x + 0.044715 * std::pow(x, 3))));
    case HeadActivation::kSilu:
      return x / (1 + std::exp(-x));
    case HeadActivation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case HeadActivation::kIdentity:
      break;
  }
  return x;
}

/// activation(W x + b)
Values Dense(const proto::HeadStep& step, const Values& x, const StepTensorValues& tensor) {
  const Values weight = tensor(step, step.weight);  // [out][in]
  Values y = step.bias.empty() ? Values(static_cast<std::size_t>(step.out_features))
                               : tensor(step, step.bias);
  for (std::size_t out = 0; out < y.size(); ++out) {
    for (std::size_t in = 0; in < x.size(); ++in) {
      y[out] += weight[out * x.size() + in] * x[in];
    }
    y[out] = Activate(step.activation, y[out]);
  }
  return y;
}

void LayerNorm(const proto::HeadStep& step, Values& y, const StepTensorValues& tensor) {
  const Values weight = tensor(step, step.norm);
  const Values bias = step.norm_bias.empty() ? Values(y.size()) : tensor(step, step.norm_bias);
  double mean = 0;
  double variance = 0;
  for (const double value : y) {
    mean += value / static_cast<double>(y.size());
  }
  for (const double value : y) {
    variance += std::pow(value - mean, 2) / static_cast<double>(y.size());
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = (y[i] - mean) / std::sqrt(variance + step.norm_eps) * weight[i] + bias[i];
  }
}

}  // namespace

std::vector<double> ApplyReadHead(const proto::ReadHead& head, const std::vector<Values>& rows,
                                  const StepTensorValues& tensor) {
  Values x;
  for (const Pooling pooling : head.pooling) {
    const Values pooled = Pool(pooling, rows);
    x.insert(x.end(), pooled.begin(), pooled.end());
  }
  for (const proto::HeadStep& step : head.steps) {
    if (!step.weight.empty()) {
      x = Dense(step, x, tensor);
    }
    if (!step.norm.empty()) {
      LayerNorm(step, x, tensor);
    }
  }
  double length = 0;
  for (double& value : x) {
    value /= head.temperature;
    length = std::hypot(length, value);
  }
  if (head.normalize) {
    for (double& value : x) {
      value /= length;
    }
  }
  x.resize(static_cast<std::size_t>(head.output_size));
  return x;
}

}  // namespace scorecast::reference
