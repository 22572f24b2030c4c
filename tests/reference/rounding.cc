#include "tests/reference/rounding.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace scorecast::reference {
namespace {

void Rotate(std::span<double> row) {
  const std::size_t power = row.size() & (~row.size() + 1);
  const std::size_t block = std::min<std::size_t>(power, 1024);
  for (std::size_t begin = 0; begin < row.size(); begin += block) {
    const std::span<double> part = row.subspan(begin, block);
    for (std::size_t width = 1; width < block; width *= 2) {
      for (std::size_t i = 0; i < block; ++i) {
        if ((i & width) == 0) {
          const double a = part[i];
          const double b = part[i + width];
          part[i] = a + b;
          part[i + width] = a - b;
        }
      }
    }
    for (double& x : part) {
      x /= std::sqrt(static_cast<double>(block));
    }
  }
}

}  // namespace

double ToBfloat16(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // In [0.5, 1).
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
}

void ToBfloat16(std::span<double> row) {
  for (double& x : row) {
    x = ToBfloat16(x);
  }
}

void ToInt8(std::span<double> row) {
  Rotate(row);
  double most = 0;
  for (const double x : row) {
    most = std::max(most, std::abs(x));
  }
  const double scale = most / 127;
  for (double& x : row) {
    x = scale == 0 ? 0 : std::nearbyint(x / scale) * scale;
  }
  Rotate(row);
}

void Round(Precision precision, std::span<double> row) {
  switch (precision) {
    case Precision::kExact:
      return;
    case Precision::kFloat32:
      std::ranges::transform(row, row.begin(), [](double x) { return static_cast<float>(x); });
      return;
    case Precision::kBfloat16:
      ToBfloat16(row);
      return;
    case Precision::kInt8:
      ToInt8(row);
      return;
  }
}

}  // namespace scorecast::reference
