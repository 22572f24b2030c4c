#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include <prometheus/client_metric.h>

#include "coordinator/metrics/families.h"

namespace scorecast::coordinator {

/// Counts values in buckets. Any thread may use it. It takes no lock, so that a scrape never delays
/// the computing thread.
class Histogram {
 public:
  /// `bounds` are the upper bounds of all buckets but the last, ascending. They must outlive the
  /// histogram.
  explicit Histogram(std::span<const double> bounds);

  void Observe(double value);
  prometheus::ClientMetric Collect(MetricLabels labels) const;
  /// Of all values.
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::span<const double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;  // [bounds + 1]
  std::atomic<double> sum_ = 0;
};

/// Buckets for durations in seconds, from half a millisecond to five minutes.
std::span<const double> DurationBounds();

}  // namespace scorecast::coordinator
