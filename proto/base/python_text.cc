#include "proto/base/python_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace scorecast::proto {

std::string PythonText(double number) {
  if (!std::isfinite(number)) {
    return std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf";
  }
  std::array<char, 64> buffer;
  const auto scientific = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                        std::chars_format::scientific);
  const std::string shortest(buffer.data(), scientific.ptr);
  const int exponent = std::atoi(shortest.c_str() + shortest.find('e') + 1);
  if (exponent < -4 || exponent >= 16) {
    return shortest;
  }
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed);
  const std::string text(buffer.data(), fixed.ptr);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

}  // namespace scorecast::proto
