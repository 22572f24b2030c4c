#include "coordinator/metrics/pass_metrics.h"

#include <array>
#include <span>
#include <string>
#include <utility>

namespace scorecast::coordinator {
namespace {

std::span<const double> RowBounds() {
  static constexpr std::array kBounds = {1.0,    8.0,    32.0,   64.0,   128.0,   256.0,  512.0,
                                         1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0};
  return kBounds;
}

std::span<const double> SequenceBounds() {
  static constexpr std::array kBounds = {1.0,  2.0,   4.0,   8.0,   16.0,  32.0,
                                         64.0, 128.0, 256.0, 512.0, 1024.0};
  return kBounds;
}

prometheus::MetricFamily Only(std::string name, std::string help, const Histogram& histogram) {
  prometheus::MetricFamily family = HistogramFamily(std::move(name), std::move(help));
  family.metric.push_back(histogram.Collect({}));
  return family;
}

}  // namespace

PassMetrics::PassMetrics()
    : rows_(RowBounds()), sequences_(SequenceBounds()), seconds_(DurationBounds()) {}

void PassMetrics::OnPass(const PassSummary& pass) {
  rows_.Observe(static_cast<double>(pass.rows));
  sequences_.Observe(static_cast<double>(pass.sequences));
  seconds_.Observe(pass.seconds);
}

Families PassMetrics::Collect() const {
  return {
      Only("scorecast_pass_rows", "Rows of a pass: tokens that it computed.", rows_),
      Only("scorecast_pass_sequences", "Sequences with rows in a pass.", sequences_),
      Only("scorecast_pass_seconds", "Time of a pass, from its forming to its end.", seconds_),
  };
}

}  // namespace scorecast::coordinator
