#pragma once

#include <cstdint>
#include <map>

namespace scorecast::shard {

/// How long passes took, by their bucket of rows (ForwardPlan::bucket).
class PassTimes {
 public:
  void Add(std::uint32_t bucket, double seconds);
  /// Seconds that a pass is expected to take. If no pass had this bucket, the estimate follows from
  /// the nearest larger one, or else from the nearest smaller one in proportion to the rows. 0 if
  /// there was no pass at all.
  double Expected(std::uint32_t bucket) const;

 private:
  std::map<std::uint32_t, double> seconds_;  // Averages in which later passes count more.
};

}  // namespace scorecast::shard
