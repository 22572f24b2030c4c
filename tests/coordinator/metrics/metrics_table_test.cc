// The table of metrics in docs/operations.md has what /metrics has: names, types and labels.

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_type.h>

#include "coordinator/metrics/metrics.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace metrics_table_test {

/// Type and labels, in brackets and separated by commas.
using Form = std::pair<std::string, std::string>;

std::string NameOf(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Gauge:
      return "gauge";
    case prometheus::MetricType::Histogram:
      return "histogram";
    default:
      return "other";
  }
}

std::map<std::string, Form> ServedMetrics() {
  Metrics metrics(Endpoints(), /*names_clients=*/true);
  metrics.requests.OnEnd({nullptr, "client", 404, nullptr});
  ServiceStatus status;
  status.cluster.ranks.emplace_back();
  status.clients = ClientsStatus{.refusals = {{"draining", 1}}};
  std::map<std::string, Form> served;
  for (const prometheus::MetricFamily& family : metrics.Collect(status, 1)) {
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_FALSE(family.metric.empty()) << family.name;
    std::string labels;
    for (const auto& label : family.metric.at(0).label) {
      labels += (labels.empty() ? "" : ", ") + label.name;
    }
    EXPECT_TRUE(served.emplace(family.name, Form(NameOf(family.type), labels)).second)
        << family.name << " comes twice";
  }
  return served;
}

/// The rows of the table whose first column is a name of a metric: | `name` | type | labels | … |
std::map<std::string, Form> DocumentedMetrics() {
  const std::regex row(
      R"(\| `((?:scorecast|process)_[a-z_]+)` \| ([a-z]+) \| ([^|]*?) *\| [^|]+ \|)");
  std::ifstream file(std::filesystem::path(reference::kTestsDirectory).parent_path() /
                     "docs/operations.md");
  std::map<std::string, Form> documented;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) {
      EXPECT_TRUE(documented.emplace(match[1], Form(match[2], match[3])).second) << line;
    }
  }
  return documented;
}

TEST(MetricsTable, HasEveryMetric) {
  const std::map<std::string, Form> documented = DocumentedMetrics();
  EXPECT_GT(documented.size(), 20U);
  EXPECT_EQ(documented, ServedMetrics());
}

}  // namespace metrics_table_test
}  // namespace scorecast::coordinator
