#include "shard/model/rope_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace scorecast::shard {
namespace {

using proto::RopeConfig;
using proto::RopeType;

/// Tables grow by doubling.
std::int64_t PositionsFor(std::int64_t end) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(end)));
}

/// Llama 3's scaling, as in its published code. The frequencies of long wavelengths are divided by
/// the factor, those of short ones stay as they are, and those between are interpolated.
float Llama3Frequency(float frequency, const RopeConfig& config) {
  const auto context = static_cast<double>(config.original_max_position_embeddings);
  const float wavelength = 2 * std::numbers::pi_v<float> / frequency;
  if (wavelength > static_cast<float>(context / config.low_freq_factor)) {
    return frequency / static_cast<float>(config.factor);
  }
  if (wavelength < static_cast<float>(context / config.high_freq_factor)) {
    return frequency;
  }
  const float smooth =
      (static_cast<float>(context) / wavelength - static_cast<float>(config.low_freq_factor)) /
      static_cast<float>(config.high_freq_factor - config.low_freq_factor);
  return (1.0F - smooth) * frequency / static_cast<float>(config.factor) + smooth * frequency;
}

/// YaRN's ramp over the pairs of a head (arXiv 2309.00071). Pairs that make beta_fast rotations or
/// more in the original context keep their frequencies. Those that make beta_slow rotations or
/// fewer have them divided by the factor.
class YarnRamp {
 public:
  YarnRamp(const RopeConfig& config, std::int64_t head_dim) {
    const auto dim = static_cast<double>(head_dim);
    const auto context = static_cast<double>(config.original_max_position_embeddings);
    const auto pair_with = [&](double rotations) {
      return dim * std::log(context / (rotations * 2 * std::numbers::pi)) /
             (2 * std::log(config.theta));
    };
    double begin = pair_with(config.beta_fast);
    double end = pair_with(config.beta_slow);
    if (config.truncate) {
      begin = std::floor(begin);
      end = std::ceil(end);
    }
    begin = std::max(begin, 0.0);
    end = std::min(end, dim - 1);
    begin_ = static_cast<float>(begin);
    // Avoids a division by zero in the same way as transformers.
    length_ = static_cast<float>((begin == end ? end + 0.001 : end) - begin);
  }

  /// 0: the pair keeps its frequency. 1: it is divided.
  float At(std::int64_t pair) const {
    return std::clamp((static_cast<float>(pair) - begin_) / length_, 0.0F, 1.0F);
  }

 private:
  float begin_;
  float length_;
};

/// [head_dim / 2]
std::vector<float> Frequencies(const RopeConfig& config, std::int64_t head_dim) {
  const auto theta = static_cast<float>(config.theta);
  const auto factor = static_cast<float>(config.factor);
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < head_dim / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    // The power is computed in float64, so that rounding it to float32 gives the nearest float32.
    const auto power =
        static_cast<float>(std::pow(static_cast<double>(theta), static_cast<double>(exponent)));
    float frequency = 1.0F / power;
    if (config.type == RopeType::kLinear) {
      frequency /= factor;
    } else if (config.type == RopeType::kLlama3) {
      frequency = Llama3Frequency(frequency, config);
    } else if (config.type == RopeType::kYarn) {
      const float kept = 1.0F - YarnRamp(config, head_dim).At(i);
      frequency = 1.0F / (factor * power) * (1.0F - kept) + frequency * kept;
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

}  // namespace

RopeTable::RopeTable(const RopeConfig& config, std::int64_t head_dim)
    : half_(head_dim / 2),
      factor_(static_cast<float>(config.attention_factor)),
      frequencies_(Frequencies(config, head_dim)) {}

void RopeTable::Extend(std::int64_t end) {
  const auto known = static_cast<std::int64_t>(cosine_.size()) / half_;
  if (end <= known) {
    return;
  }
  const std::int64_t grown = PositionsFor(end);
  cosine_.resize(static_cast<std::size_t>(grown * half_));
  sine_.resize(static_cast<std::size_t>(grown * half_));
  for (std::int64_t position = known; position < grown; ++position) {
    for (std::int64_t i = 0; i < half_; ++i) {
      const auto at = static_cast<std::size_t>(position * half_ + i);
      const float angle = static_cast<float>(position) * frequencies_[static_cast<std::size_t>(i)];
      cosine_[at] = static_cast<float>(std::cos(static_cast<double>(angle))) * factor_;
      sine_[at] = static_cast<float>(std::sin(static_cast<double>(angle))) * factor_;
    }
  }
}

std::int64_t RopeTable::Bytes(std::int64_t head_dim, std::int64_t end) {
  // A cosine and a sine for each pair of a head's elements.
  return PositionsFor(end) * head_dim * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace scorecast::shard
