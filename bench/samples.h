#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace scorecast::bench {

/// Repeated measurements of one quantity. The statistics need at least one value.
struct Samples {
  std::vector<double> values;

  double Median() const;
  double Min() const;
  double Max() const;
  double Mean() const;
};

/// "median (min-max)", with `digits` decimals.
std::string Spread(const Samples& samples, int digits);

/// Prints a line on standard error about the current measurement.
inline void Progress(const std::string& what) { std::fprintf(stderr, "bench: %s\n", what.c_str()); }

}  // namespace scorecast::bench
