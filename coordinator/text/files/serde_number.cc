#include "coordinator/text/files/serde_number.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace scorecast::coordinator {
namespace {

/// The float64 nearest to 10 to the given power, which is in 0 … 308.
double PowerOfTen(std::int64_t power) {
  static const std::array<double, 309> powers = [] {
    std::array<double, 309> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::strtod(("1e" + std::to_string(i)).c_str(), nullptr);
    }
    return values;
  }();
  return powers[static_cast<std::size_t>(power)];
}

}  // namespace

double SerdeNumber(std::string_view spelling) {
  constexpr int kMostPower = 308;
  const bool negative = spelling.starts_with('-');
  spelling.remove_prefix(negative ? 1 : 0);
  std::uint64_t digits = 0;
  std::int64_t power = 0;
  bool is_full = false;  // No further digit fits.
  bool is_fraction = false;
  std::size_t at = 0;
  for (; at < spelling.size() && spelling[at] != 'e' && spelling[at] != 'E'; ++at) {
    if (spelling[at] == '.') {
      is_fraction = true;
      continue;
    }
    const auto digit = static_cast<std::uint64_t>(spelling[at] - '0');
    is_full = is_full || digits > (UINT64_MAX - digit) / 10;
    if (!is_full) {
      digits = digits * 10 + digit;
    }
    // Digits that do not fit count as zeros before the decimal point, and are ignored behind it.
    power += is_full && !is_fraction ? 1 : 0;
    power -= !is_full && is_fraction ? 1 : 0;
  }
  if (at < spelling.size()) {
    constexpr std::int64_t kFarAway = 1'000'000;
    std::string_view exponent = spelling.substr(at + 1);
    const bool down = exponent.starts_with('-');
    exponent.remove_prefix(down || exponent.starts_with('+') ? 1 : 0);
    std::int64_t value = 0;
    for (const char c : exponent) {
      value = std::min(10 * value + (c - '0'), kFarAway);
    }
    power += down ? -value : value;
  }
  auto number = static_cast<double>(digits);
  for (; power < -kMostPower && number != 0; power += kMostPower) {
    number /= PowerOfTen(kMostPower);
  }
  if (number != 0) {
    number = power < 0 ? number / PowerOfTen(-power) : number * PowerOfTen(power);
  }
  return negative ? -number : number;
}

}  // namespace scorecast::coordinator
