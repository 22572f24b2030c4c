#include "proto/base/nearest_name.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace scorecast::proto {
namespace {

constexpr std::size_t kMaxBytes = 64;
constexpr std::size_t kMinAbbreviation = 3;

/// The optimal string alignment distance.
std::size_t TypingErrors(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, kMaxBytes + 1>;
  Row before_last{};
  Row last{};
  Row row{};
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

/// Whether `part` begins as `whole` does, and has some of its characters in their order.
bool IsAbbreviation(std::string_view part, std::string_view whole) {
  if (part.size() < kMinAbbreviation || part.front() != whole.front()) {
    return false;
  }
  std::size_t found = 0;
  for (const char c : whole) {
    found += found < part.size() && c == part[found] ? 1 : 0;
  }
  return found == part.size();
}

}  // namespace

std::string_view NearestName(std::string_view given, std::span<const std::string_view> names) {
  std::string_view nearest;
  std::string_view abbreviated;
  if (given.empty() || given.size() > kMaxBytes) {
    return nearest;
  }
  std::size_t fewest = kMaxBytes;
  for (const std::string_view name : names) {
    if (name.empty() || name.size() > kMaxBytes) {
      continue;
    }
    const std::size_t errors = TypingErrors(given, name);
    if (errors < fewest && 3 * errors <= name.size()) {
      fewest = errors;
      nearest = name;
    }
    if (abbreviated.empty() && (IsAbbreviation(given, name) || IsAbbreviation(name, given))) {
      abbreviated = name;
    }
  }
  return nearest.empty() ? abbreviated : nearest;
}

}  // namespace scorecast::proto
