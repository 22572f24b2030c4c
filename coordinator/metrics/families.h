#pragma once

#include <string>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

namespace scorecast::coordinator {

/// Metrics in families of one name each, as they are at the time of a scrape.
using Families = std::vector<prometheus::MetricFamily>;
using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

// A family without metrics.
prometheus::MetricFamily CounterFamily(std::string name, std::string help);
prometheus::MetricFamily GaugeFamily(std::string name, std::string help);
prometheus::MetricFamily HistogramFamily(std::string name, std::string help);

/// Adds a metric to a family of counters or gauges.
void AddValue(prometheus::MetricFamily& family, MetricLabels labels, double value);

// A family of one metric without labels.
prometheus::MetricFamily Counter(std::string name, std::string help, double value);
prometheus::MetricFamily Gauge(std::string name, std::string help, double value);

/// Moves `more` to the end of `families`.
void Append(Families& families, Families more);

}  // namespace scorecast::coordinator
