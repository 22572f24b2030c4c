#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/schedule/clock.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// The fields that the requests of every endpoint have.
struct RequestOptions {
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::string> model;
  std::optional<std::string> cache_salt;
  /// Of endpoints that have jobs: see GrantedPriority.
  std::int64_t priority = 0;
};

/// No error, or the 400 that names the field.
std::optional<proto::Error> OptionsFault(const RequestOptions& options);

/// Job::priority of a request. One that is better (lower) than `best` counts as that.
std::int32_t GrantedPriority(const RequestOptions& options, std::int32_t best);

/// The deadline of a request that arrived at `arrived`. None if it names none, or one out of range.
std::optional<Clock::time_point> DeadlineOf(const RequestOptions& options,
                                            Clock::time_point arrived);

}  // namespace scorecast::coordinator
