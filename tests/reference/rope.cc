#include "tests/reference/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace scorecast::reference {
namespace {

constexpr float kTwoPi = 2 * std::numbers::pi_v<float>;

// transformers: _compute_llama3_parameters.
float Llama3Frequency(float frequency, const RopeScaling& rope) {
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

// transformers: _compute_yarn_parameters with beta_fast 32 and beta_slow 1, its defaults.
float YarnFrequency(float frequency, std::size_t i, const ReferenceConfig& config, double theta) {
  const RopeScaling& rope = config.rope_scaling;
  const auto dim = static_cast<double>(config.model.head_dim);
  const auto dimension_of = [&](double rotations) {
    return dim *
           std::log(rope.original_max_position_embeddings / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(theta));
  };
  const double low = std::max(std::floor(dimension_of(32)), 0.0);
  double high = std::min(std::ceil(dimension_of(1)), dim - 1);
  if (low == high) {
    high += 0.001;
  }
  const auto ramp =
      static_cast<float>(std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0));
  return frequency / static_cast<float>(rope.factor) * ramp + frequency * (1 - ramp);
}

}  // namespace

Rope::Rope(const ReferenceConfig& config, double theta) {
  const RopeScaling& rope = config.rope_scaling;
  const auto base = static_cast<float>(theta);
  const auto dim = static_cast<float>(config.model.head_dim);
  for (std::int64_t i = 0; i < config.model.head_dim / 2; ++i) {
    float frequency = 1.0F / std::pow(base, static_cast<float>(2 * i) / dim);
    if (rope.rope_type == "linear") {
      frequency /= static_cast<float>(rope.factor);
    } else if (rope.rope_type == "llama3") {
      frequency = Llama3Frequency(frequency, rope);
    } else if (rope.rope_type == "yarn") {
      frequency = YarnFrequency(frequency, static_cast<std::size_t>(i), config, theta);
    } else if (rope.rope_type != "default") {
      throw std::runtime_error("the oracle does not know rope_type " + rope.rope_type);
    }
    inverse_frequencies_.push_back(frequency);
  }
  if (rope.rope_type == "yarn") {
    attention_factor_ = 0.1 * std::log(rope.factor) + 1;
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
