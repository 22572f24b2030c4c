#include "proto/plan/mass_bins.h"

#include <algorithm>

namespace scorecast::proto {
namespace {

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
  const std::int64_t count = std::min(std::ssize(more), std::ssize(bins.masses) - below);
  if (count <= 0) {
    return;
  }
  std::uint64_t* const masses = bins.masses.data() + below;
  for (std::int64_t i = 0; i < count; ++i) {
    masses[i] += more[static_cast<std::size_t>(i)];
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

}  // namespace scorecast::proto
