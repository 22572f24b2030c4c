#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/transports/batch/record.h"
#include "coordinator/transports/batch/run_point.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

class LineWindow;

/// Forms the record of a line, which has this custom_id. May take time.
using FormRecord = std::function<Record(const std::string& custom_id)>;

/// A line of a batch from its reading to its record. The window bounds the responses of all lines
/// together, so that a line waits and is not refused. A record is formed when it is written, one at
/// a time.
class OpenLine {
 public:
  /// `end` is the input behind the line; its counts are not set. `position`: see
  /// InputFile::position.
  OpenLine(std::shared_ptr<LineWindow> window, std::size_t bytes, const RunPoint& end,
           std::int64_t position);

  std::int64_t bytes() const { return bytes_; }
  const RunPoint& end() const { return end_; }
  std::int64_t position() const { return position_; }

  // For the thread that reads lines. Ready is called after the last of them, by any thread.

  void SetCustomId(std::string custom_id) { custom_id_ = std::move(custom_id); }
  /// The line is not a request. Its record has the error and its number.
  void Refuse(proto::Error error, std::int64_t line_number);
  /// See LineWindow::AwaitResponseRoom.
  void AwaitResponseRoom(std::int64_t bytes);

  /// The line's record can be formed. `form` is called at most once, by the thread that writes. If
  /// it is known by now how many bytes the response takes, they count in place of those for which
  /// there had to be room. Called once, and the last that is done with the line.
  void Ready(FormRecord form, std::optional<std::int64_t> response_bytes = std::nullopt);

  /// Forms the line's record. Called at most once, after Ready.
  Record Finish();

 private:
  friend class LineWindow;

  /// Shared with whoever computes the line, and may not have returned from Ready yet when the last
  /// line is written.
  const std::shared_ptr<LineWindow> window_;
  const std::int64_t bytes_;
  const RunPoint end_;
  const std::int64_t position_;
  std::optional<std::string> custom_id_;  ///< Absent if the line has none.
  FormRecord form_;                       ///< Set when it is ready.

  // Guarded by the window.
  std::int64_t response_bytes_ = 0;  ///< What its response may take of the window.
  bool is_ready_ = false;            ///< Its record can be formed.
};

}  // namespace scorecast::coordinator
