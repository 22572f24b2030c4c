#include "shard/model/rope_table.h"

#include <bit>
#include <cmath>

namespace scorecast::shard {

namespace {

/// Tables grow by doubling.
std::int64_t PositionsFor(std::int64_t end) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(end)));
}

}  // namespace

RopeTable::RopeTable(const proto::RopeConfig& config, std::int64_t head_dim) : half_(head_dim / 2) {
  const auto theta = static_cast<float>(config.theta);
  for (std::int64_t i = 0; i < half_; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    // The power is computed in float64, so that its float32 is the nearest.
    const double power = std::pow(static_cast<double>(theta), static_cast<double>(exponent));
    frequencies_.push_back(1.0F / static_cast<float>(power));
  }
}

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
      cosine_[at] = static_cast<float>(std::cos(static_cast<double>(angle)));
      sine_[at] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
}

std::int64_t RopeTable::Bytes(std::int64_t head_dim, std::int64_t end) {
  // A cosine and a sine for each pair of a head's elements.
  return PositionsFor(end) * head_dim * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace scorecast::shard
