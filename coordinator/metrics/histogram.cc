#include "coordinator/metrics/histogram.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace scorecast::coordinator {

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds), counts_(bounds.size() + 1) {}

void Histogram::Observe(double value) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

prometheus::ClientMetric Histogram::Collect(MetricLabels labels) const {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  prometheus::ClientMetric::Histogram& histogram = metric.histogram;
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    histogram.sample_count += counts_[bucket].load(std::memory_order_relaxed);
    const double bound =
        bucket < bounds_.size() ? bounds_[bucket] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({histogram.sample_count, bound});
  }
  histogram.sample_sum = sum();
  return metric;
}

std::span<const double> DurationBounds() {
  static constexpr std::array kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01,  0.025,
                                         0.05,   0.1,   0.25,   0.5,   1.0,   2.5,
                                         5.0,    10.0,  30.0,   60.0,  120.0, 300.0};
  return kBounds;
}

}  // namespace scorecast::coordinator
