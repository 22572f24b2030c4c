#pragma once

#include <map>
#include <string>
#include <string_view>

namespace scorecast::testing {

/// A family of metrics in Prometheus' text format.
struct TextFamily {
  std::string type;
  std::string help;
  /// By name and labels as they are written, such as `a_total{b="c"}`.
  std::map<std::string, double> samples;
};

/// Parses a text strictly: each family has a HELP line, a TYPE line and then its samples; names,
/// labels, escapes and numbers are valid; no family and no sample comes twice; counters end in
/// "_total" and are not negative; the buckets of a histogram ascend to +Inf, which equals its
/// count. Throws std::runtime_error with the line that is wrong.
std::map<std::string, TextFamily> ParsePrometheusText(std::string_view text);

}  // namespace scorecast::testing
