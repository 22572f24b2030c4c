// The parser that judges /metrics refuses what Prometheus refuses.

#include "tests/coordinator/metrics/prometheus_text.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace scorecast::testing {
namespace prometheus_text_test {

const std::string kGauge = "# HELP a Some text.\n# TYPE a gauge\n";
const std::string kHistogram = "# HELP h Some text.\n# TYPE h histogram\n";

TEST(PrometheusText, IsRead) {
  const auto families =
      ParsePrometheusText(kGauge + "a{b=\"c\",d=\"\\\"\\\\\"} 1.5e-3\na 2\n" + kHistogram +
                          "h_count 3\nh_sum 4\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 3\n");
  EXPECT_EQ(families.at("a").samples.at("a{b=\"c\",d=\"\\\"\\\\\"}"), 0.0015);
  EXPECT_EQ(families.at("a").samples.at("a"), 2);
  EXPECT_EQ(families.at("h").samples.at("h_bucket{le=\"+Inf\"}"), 3);
}

TEST(PrometheusText, IsRefusedIfItIsWrong) {
  for (const std::string& text : {
           std::string(),
           kGauge + "a 1",
           std::string("a 1\n"),
           std::string("# HELP a Some text.\na 1\n"),
           kGauge + "b 1\n",
           kGauge + "a one\n",
           kGauge + "a NaN\n",
           kGauge + "a 1\na 2\n",
           kGauge + "a{b=\"c} 1\n",
           kGauge + "a{b=\"c\",b=\"d\"} 1\n",
           kGauge + "a{b-c=\"d\"} 1\n",
           kGauge + "a 1\n" + kGauge + "a 1\n",
           std::string("# HELP a Some text.\n# TYPE a counter\na 1\n"),
           std::string("# HELP a_total Some text.\n# TYPE a_total counter\na_total -1\n"),
           kHistogram + "h_count 3\nh_sum 4\nh_bucket{le=\"1\"} 2\n",
           kHistogram + "h_count 3\nh_sum 4\nh_bucket{le=\"+Inf\"} 2\n",
           kHistogram + "h_count 3\nh_sum 4\nh_bucket{le=\"1\"} 4\nh_bucket{le=\"+Inf\"} 3\n",
           kHistogram + "h_count 3\nh_sum 4\nh_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 2\n"
                        "h_bucket{le=\"+Inf\"} 3\n",
       }) {
    EXPECT_THROW(ParsePrometheusText(text), std::runtime_error) << text;
  }
}

}  // namespace prometheus_text_test
}  // namespace scorecast::testing
