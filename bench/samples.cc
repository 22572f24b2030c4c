#include "bench/samples.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace scorecast::bench {

double Samples::Median() const {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double Samples::Min() const { return *std::min_element(values.begin(), values.end()); }
double Samples::Max() const { return *std::max_element(values.begin(), values.end()); }
double Samples::Mean() const {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string Spread(const Samples& samples, int digits) {
  char text[96];
  std::snprintf(text, sizeof(text), "%.*f (%.*f-%.*f)", digits, samples.Median(), digits,
                samples.Min(), digits, samples.Max());
  return text;
}

}  // namespace scorecast::bench
