#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/schedule/job.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// What a request of any door may say beside what is to be computed.
struct RequestOptions {
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::string> model;
  std::optional<std::string> cache_salt;
};

/// Nothing, or the 400 that names the field.
std::optional<proto::Error> OptionsFault(const RequestOptions& options);

/// A job with the salt and the deadline, which counts from `arrived`, of options without a fault.
Job JobWith(const RequestOptions& options, Clock::time_point arrived);

}  // namespace scorecast::coordinator
