#include "coordinator/request/request_options.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/job.h"

namespace scorecast::coordinator {
namespace {

/// A year: longer than any request takes, and short enough for the arithmetic of the clock.
constexpr std::int64_t kMaxTimeoutMs = std::int64_t{1000} * 60 * 60 * 24 * 365;
/// Bounded, because the cache keeps a salt for as long as it has one of its pages.
constexpr std::size_t kMaxSaltBytes = 256;

}  // namespace

std::optional<proto::Error> OptionsFault(const RequestOptions& options) {
  if (options.timeout_ms && *options.timeout_ms <= 0) {
    return BadRequest(
        "timeout_out_of_range",
        "timeout_ms must be greater than zero, not " + std::to_string(*options.timeout_ms) + ".",
        "timeout_ms");
  }
  if (options.cache_salt && options.cache_salt->size() > kMaxSaltBytes) {
    return BadRequest("cache_salt_too_long",
                      "cache_salt is too long: " +
                          Exceeds(static_cast<std::int64_t>(options.cache_salt->size()),
                                  static_cast<std::int64_t>(kMaxSaltBytes)) +
                          " bytes.",
                      "cache_salt");
  }
  if (options.priority < kMinPriority || options.priority > kMaxPriority) {
    return BadRequest("priority_out_of_range",
                      "priority must be from " + std::to_string(kMinPriority) + " to " +
                          std::to_string(kMaxPriority) + ", not " +
                          std::to_string(options.priority) + ".",
                      "priority");
  }
  return std::nullopt;
}

std::int32_t GrantedPriority(const RequestOptions& options, std::int32_t best) {
  return static_cast<std::int32_t>(std::max<std::int64_t>(options.priority, best));
}

std::optional<Clock::time_point> DeadlineOf(const RequestOptions& options,
                                            Clock::time_point arrived) {
  if (!options.timeout_ms || *options.timeout_ms <= 0) {
    return std::nullopt;
  }
  return arrived + std::chrono::milliseconds(std::min(*options.timeout_ms, kMaxTimeoutMs));
}

}  // namespace scorecast::coordinator
