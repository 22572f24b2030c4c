#include "coordinator/metrics/families.h"

#include <iterator>
#include <utility>

#include <prometheus/metric_type.h>

namespace scorecast::coordinator {

using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily CounterFamily(std::string name, std::string help) {
  return {std::move(name), std::move(help), MetricType::Counter, {}};
}

MetricFamily GaugeFamily(std::string name, std::string help) {
  return {std::move(name), std::move(help), MetricType::Gauge, {}};
}

MetricFamily HistogramFamily(std::string name, std::string help) {
  return {std::move(name), std::move(help), MetricType::Histogram, {}};
}

void AddValue(MetricFamily& family, MetricLabels labels, double value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

MetricFamily Counter(std::string name, std::string help, double value) {
  MetricFamily family = CounterFamily(std::move(name), std::move(help));
  AddValue(family, {}, value);
  return family;
}

MetricFamily Gauge(std::string name, std::string help, double value) {
  MetricFamily family = GaugeFamily(std::move(name), std::move(help));
  AddValue(family, {}, value);
  return family;
}

void Append(Families& families, Families more) {
  families.insert(families.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

}  // namespace scorecast::coordinator
