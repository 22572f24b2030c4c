#include "shard/worker/pass_times.h"

#include <iterator>

namespace scorecast::shard {
namespace {

/// The weight of the newest pass in the average.
constexpr double kNewest = 0.25;

}  // namespace

void PassTimes::Add(std::uint32_t bucket, double seconds) {
  const auto [entry, is_new] = seconds_.try_emplace(bucket, seconds);
  if (!is_new) {
    entry->second += kNewest * (seconds - entry->second);
  }
}

double PassTimes::Expected(std::uint32_t bucket) const {
  if (seconds_.empty()) {
    return 0;
  }
  const auto entry = seconds_.lower_bound(bucket);
  if (entry != seconds_.end()) {
    return entry->second;
  }
  const auto& [largest, seconds] = *std::prev(entry);
  return seconds * static_cast<double>(bucket) / static_cast<double>(largest);
}

}  // namespace scorecast::shard
