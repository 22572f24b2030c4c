#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace scorecast::proto {

/// The error that a client gets if its request is wrong or cannot be served.
struct Error {
  int code = 400;       ///< An HTTP status: 400, 413, 429, 499, 500, 503 or 504.
  std::string reason;   ///< A stable code, e.g. "delimiter_in_item".
  std::string message;  ///< For humans; states the value and the limit.
  std::string param;    ///< The field that is wrong, with its index, e.g. "items[3]"; may be empty.
  std::optional<std::int64_t> retry_after_seconds;  ///< Set with 429 and some 503.
};

/// A start-up fault: command line, configuration, checkpoint, memory. Caught once, in `main`, which
/// prints `what()` as one line and exits with a nonzero code.
class StartupError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace scorecast::proto
