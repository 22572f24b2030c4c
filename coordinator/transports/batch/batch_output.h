#pragma once

#include <span>
#include <string>

#include "coordinator/transports/batch/run_point.h"

namespace scorecast::coordinator {

/// Where the records of a batch go.
class BatchOutput {
 public:
  virtual ~BatchOutput() = default;

  /// Whether records are written as soon as they are ready. Otherwise many are written at once.
  virtual bool is_prompt() const = 0;

  /// Writes records, without their newlines. `end` is the point behind the last of them. There may
  /// be none. Throws std::runtime_error; nothing more is written then.
  virtual void Write(std::span<const std::string> records, const RunPoint& end) = 0;
};

}  // namespace scorecast::coordinator
