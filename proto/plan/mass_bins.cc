#include "proto/plan/mass_bins.h"

#include <algorithm>
#include <cmath>

namespace scorecast::proto {
namespace {

/// The width is 2^-kWidthBits.
constexpr int kWidthBits = 4;
/// With more bits, the width and its inverse would leave the range of float.
constexpr int kMostWidthBits = 120;

template <typename Mass>
void AddTo(MassBins& bins, std::int32_t first, std::span<const Mass> more) {
  if (bins.highest == MassBins::kNone) {
    bins.highest = first;
    bins.masses.resize(MassBins::kCount);
  }
  if (first > bins.highest) {
    const std::int64_t shift = std::int64_t{first} - bins.highest;
    const auto moved = std::min<std::int64_t>(shift, MassBins::kCount);
    std::shift_right(bins.masses.begin(), bins.masses.end(), moved);
    std::fill_n(bins.masses.begin(), moved, 0);
    bins.highest = first;
  }
  const std::int64_t below = std::int64_t{bins.highest} - first;
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::int64_t at = below + static_cast<std::int64_t>(i);
    if (at >= std::ssize(bins.masses)) {
      return;
    }
    bins.masses[static_cast<std::size_t>(at)] += more[i];
  }
}

}  // namespace

void MassBins::Add(const MassBins& more) {
  if (more.highest != kNone) {
    AddTo<std::uint64_t>(*this, more.highest, more.masses);
  }
}

void MassBins::Add(std::int32_t first, std::span<const std::uint32_t> more) {
  AddTo(*this, first, more);
}

float MassBinWidth(float temperature) {
  int exponent = 0;
  // temperature = fraction · 2^exponent, with a fraction of at least 1/2 and below 1.
  const float fraction = std::frexp(temperature, &exponent);
  const int above = std::max(fraction == 0.5F ? exponent - 1 : exponent, 0);
  return std::ldexp(1.0F, -std::min(kWidthBits + above, kMostWidthBits));
}

}  // namespace scorecast::proto
