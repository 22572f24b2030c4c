#pragma once

#include <span>
#include <string>
#include <string_view>

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

  // Write a record that is too long to be held, in parts. `end` is the point behind it. They throw
  // like Write, or later: at EndRecord at the latest.
  virtual void BeginRecord(const RunPoint& end) = 0;
  virtual void WritePart(std::string_view part) = 0;
  virtual void EndRecord() = 0;
};

}  // namespace scorecast::coordinator
