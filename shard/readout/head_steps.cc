#include "shard/readout/head_steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include "shard/checkpoint/tensor_view.h"

namespace scorecast::shard {
namespace {

using proto::HeadActivation;

// A task computes some outputs for some texts, so that the weights of these outputs are read from
// memory once for all of them.
constexpr std::int64_t kOutputsATask = 32;
constexpr std::int64_t kTextsATask = 32;

double Activate(HeadActivation activation, double x) {
  switch (activation) {
    case HeadActivation::kIdentity:
      return x;
    case HeadActivation::kTanh:
      return std::tanh(x);
    case HeadActivation::kRelu:
      return x < 0 ? 0 : x;  // NaN stays NaN.
    case HeadActivation::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case HeadActivation::kGeluTanh: {
      const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(inner));
    }
    case HeadActivation::kSilu:
      return x / (1 + std::exp(-x));
    case HeadActivation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}

/// LayerNorm as PyTorch's. `bias` may be empty.
void LayerNorm(const std::vector<float>& weight, const std::vector<float>& bias, double eps,
               std::vector<float>& row) {
  const auto n = static_cast<double>(row.size());
  double sum = 0;
  for (const float x : row) {
    sum += x;
  }
  const double mean = sum / n;
  double squares = 0;
  for (const float x : row) {
    squares += (x - mean) * (x - mean);
  }
  const double scale = 1 / std::sqrt(squares / n + eps);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double normed = (row[i] - mean) * scale * weight[i];
    row[i] = static_cast<float>(bias.empty() ? normed : normed + bias[i]);
  }
}

/// As PyTorch's `normalize`, which leaves a row of zeros as it is.
void NormalizeRow(std::vector<float>& row) {
  double squares = 0;
  for (const float x : row) {
    squares += static_cast<double>(x) * x;
  }
  const double norm = std::max(std::sqrt(squares), 1e-12);
  for (float& x : row) {
    x = static_cast<float>(x / norm);
  }
}

std::vector<float> Load(const Checkpoint& checkpoint, const proto::HeadStep& step,
                        const std::string& tensor, std::initializer_list<std::int64_t> shape) {
  if (tensor.empty()) {
    return {};
  }
  const TensorView& view = checkpoint.Require(StepTensorName(step, tensor), shape);
  std::vector<float> values(static_cast<std::size_t>(view.num_elements()));
  ReadRows(view, {0, view.shape[0]}, values.data());
  return values;
}

}  // namespace

std::string StepTensorName(const proto::HeadStep& step, const std::string& tensor) {
  return (step.file.parent_path() / tensor).generic_string();
}

std::vector<StepTensor> StepTensors(const proto::ReadHead& head, std::int64_t values) {
  std::vector<StepTensor> tensors;
  std::int64_t in = values;
  for (const proto::HeadStep& step : head.steps) {
    if (!step.weight.empty()) {
      tensors.push_back({StepTensorName(step, step.weight), {step.out_features, in}});
    }
    for (const std::string& vector : {step.bias, step.norm, step.norm_bias}) {
      if (!vector.empty()) {
        tensors.push_back({StepTensorName(step, vector), {step.out_features}});
      }
    }
    in = step.out_features;
  }
  return tensors;
}

HeadSteps::HeadSteps(const proto::ReadHead& head, std::int64_t values, const Checkpoint& checkpoint,
                     const Kernels& kernels, ThreadPool& pool)
    : kernels_(kernels),
      pool_(pool),
      output_size_(static_cast<std::size_t>(head.output_size)),
      normalize_(head.normalize),
      temperature_(head.temperature) {
  std::int64_t in = values;
  for (const proto::HeadStep& step : head.steps) {
    const std::int64_t out = step.out_features;
    steps_.push_back({.activation = step.activation,
                      .norm_eps = step.norm_eps,
                      .in = in,
                      .out = out,
                      .weight = Load(checkpoint, step, step.weight, {out, in}),
                      .bias = Load(checkpoint, step, step.bias, {out}),
                      .norm = Load(checkpoint, step, step.norm, {out}),
                      .norm_bias = Load(checkpoint, step, step.norm_bias, {out})});
    in = out;
  }
}

void HeadSteps::Apply(std::span<const Text> texts) {
  const auto count = static_cast<std::int64_t>(texts.size());
  for (const Step& step : steps_) {
    if (!step.weight.empty()) {
      Multiply(step, texts);
    }
    if (!step.norm.empty()) {
      pool_.ParallelFor(count, [&](std::int64_t i, int) {
        LayerNorm(step.norm, step.norm_bias, step.norm_eps,
                  *texts[static_cast<std::size_t>(i)].row);
      });
    }
  }
  pool_.ParallelFor(count, [&](std::int64_t i, int) {
    const Text& text = texts[static_cast<std::size_t>(i)];
    std::vector<float>& row = *text.row;
    if (temperature_ != 1) {
      for (float& x : row) {
        x = static_cast<float>(x / temperature_);
      }
    }
    if (normalize_ && !text.keeps_length) {
      NormalizeRow(row);
    }
    row.resize(output_size_);
  });
}

void HeadSteps::Multiply(const Step& step, std::span<const Text> texts) {
  const auto count = static_cast<std::int64_t>(texts.size());
  outputs_.resize(std::max(outputs_.size(), texts.size()));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    outputs_[i].resize(static_cast<std::size_t>(step.out));
  }
  const std::int64_t output_tasks = (step.out + kOutputsATask - 1) / kOutputsATask;
  const std::int64_t text_tasks = (count + kTextsATask - 1) / kTextsATask;
  pool_.ParallelFor(output_tasks * text_tasks, [&](std::int64_t task, int) {
    const std::int64_t first_output = task % output_tasks * kOutputsATask;
    const std::int64_t first_text = task / output_tasks * kTextsATask;
    for (std::int64_t output = first_output;
         output < std::min(first_output + kOutputsATask, step.out); ++output) {
      const float* weight = step.weight.data() + output * step.in;
      const auto at = static_cast<std::size_t>(output);
      for (std::int64_t text = first_text; text < std::min(first_text + kTextsATask, count);
           ++text) {
        const auto index = static_cast<std::size_t>(text);
        const float product = kernels_.dot(texts[index].row->data(), weight, step.in);
        const float sum = step.bias.empty() ? product : product + step.bias[at];
        outputs_[index][at] = static_cast<float>(Activate(step.activation, sum));
      }
    }
  });
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::swap(*texts[i].row, outputs_[i]);
  }
}

}  // namespace scorecast::shard
