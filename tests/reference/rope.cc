#include "tests/reference/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace scorecast::reference {
namespace {

using proto::RopeConfig;

constexpr float kTwoPi = 2 * std::numbers::pi_v<float>;

// transformers: _compute_llama3_parameters.
float Llama3Frequency(float frequency, const RopeConfig& rope) {
  const auto factor = static_cast<float>(rope.factor);
  const auto low = static_cast<float>(rope.low_freq_factor);
  const auto high = static_cast<float>(rope.high_freq_factor);
  const auto context = static_cast<float>(rope.original_max_position_embeddings);
  const float wavelength = kTwoPi / frequency;
  if (wavelength > context / low) {
    return frequency / factor;
  }
  if (wavelength < context / high) {
    return frequency;
  }
  const float smooth = (context / wavelength - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

// transformers: _compute_yarn_parameters.
float YarnFrequency(float frequency, std::int64_t i, const RopeConfig& rope,
                    std::int64_t head_dim) {
  const auto dim = static_cast<double>(head_dim);
  const auto context = static_cast<double>(rope.original_max_position_embeddings);
  const auto dimension_of = [&](double rotations) {
    return dim * std::log(context / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  double low = dimension_of(rope.beta_fast);
  double high = dimension_of(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) {
    high += 0.001;
  }
  const auto ramp =
      static_cast<float>(std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0));
  return frequency / static_cast<float>(rope.factor) * ramp + frequency * (1 - ramp);
}

}  // namespace

Rope::Rope(const RopeConfig& config, std::int64_t head_dim)
    : attention_factor_(config.attention_factor) {
  const auto base = static_cast<float>(config.theta);
  for (std::int64_t i = 0; i < head_dim / 2; ++i) {
    float frequency =
        1.0F / std::pow(base, static_cast<float>(2 * i) / static_cast<float>(head_dim));
    switch (config.type) {
      case proto::RopeType::kDefault:
        break;
      case proto::RopeType::kLinear:
        frequency /= static_cast<float>(config.factor);
        break;
      case proto::RopeType::kLlama3:
        frequency = Llama3Frequency(frequency, config);
        break;
      case proto::RopeType::kYarn:
        frequency = YarnFrequency(frequency, i, config, head_dim);
        break;
    }
    inverse_frequencies_.push_back(frequency);
  }
}

void Rope::Rotate(std::span<double> head, std::int32_t position) const {
  const std::size_t half = inverse_frequencies_.size();
  for (std::size_t i = 0; i < half; ++i) {
    const float angle = static_cast<float>(position) * inverse_frequencies_[i];
    const double cos = attention_factor_ * std::cos(static_cast<double>(angle));
    const double sin = attention_factor_ * std::sin(static_cast<double>(angle));
    const double a = head[i];
    const double b = head[i + half];
    head[i] = a * cos - b * sin;
    head[i + half] = b * cos + a * sin;
  }
}

}  // namespace scorecast::reference
