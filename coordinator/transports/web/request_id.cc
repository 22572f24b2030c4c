#include "coordinator/transports/web/request_id.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kMaxLength = 128;

bool IsSafe(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-_.:/+=@").find(c) != std::string_view::npos;
}

}  // namespace

std::string RequestId(std::string_view given) {
  if (!given.empty() && given.size() <= kMaxLength && std::ranges::all_of(given, IsSafe)) {
    return std::string(given);
  }
  thread_local std::mt19937_64 random{std::random_device{}()};
  char id[17];
  std::snprintf(id, sizeof(id), "%016llx", static_cast<unsigned long long>(random()));
  return id;
}

}  // namespace scorecast::coordinator
