#include "coordinator/metrics/histogram.h"

#include <array>
#include <cmath>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace histogram_test {

using ::testing::ElementsAre;

std::vector<std::uint64_t> Counts(const prometheus::ClientMetric& metric) {
  std::vector<std::uint64_t> counts;
  for (const auto& bucket : metric.histogram.bucket) {
    counts.push_back(bucket.cumulative_count);
  }
  return counts;
}

TEST(Histogram, CountsValuesUpToEachBound) {
  constexpr std::array kBounds = {1.0, 2.0, 5.0};
  Histogram histogram(kBounds);
  EXPECT_THAT(Counts(histogram.Collect({})), ElementsAre(0, 0, 0, 0));
  for (const double value : {0.0, 1.0, 1.5, 2.0, 4.0, 100.0}) {
    histogram.Observe(value);
  }
  const prometheus::ClientMetric metric = histogram.Collect({{"name", "value"}});
  EXPECT_THAT(Counts(metric), ElementsAre(2, 4, 5, 6)) << "a value at a bound is below it";
  EXPECT_EQ(metric.histogram.sample_count, 6U);
  EXPECT_EQ(metric.histogram.sample_sum, 108.5);
  EXPECT_TRUE(std::isinf(metric.histogram.bucket.back().upper_bound));
  EXPECT_THAT(metric.label, ElementsAre(prometheus::ClientMetric::Label{"name", "value"}));
}

TEST(Histogram, LosesNoValueOfSeveralThreads) {
  constexpr int kThreads = 4;
  constexpr int kValues = 10'000;
  Histogram histogram(DurationBounds());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int value = 0; value < kValues; ++value) {
          histogram.Observe(1);
        }
      });
    }
  }
  const prometheus::ClientMetric metric = histogram.Collect({});
  EXPECT_EQ(metric.histogram.sample_count, kThreads * kValues);
  EXPECT_EQ(metric.histogram.sample_sum, kThreads * kValues);
}

}  // namespace histogram_test
}  // namespace scorecast::coordinator
