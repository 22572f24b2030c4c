#pragma once

#include <string>
#include <vector>

namespace scorecast::bench {

/// One quantity, measured again and again. The statistics want at least one value.
struct Samples {
  std::vector<double> values;

  double Median() const;
  double Min() const;
  double Max() const;
  double Mean() const;
};

/// "median (least-most)", with so many digits after the point.
std::string Spread(const Samples& samples, int digits);

}  // namespace scorecast::bench
