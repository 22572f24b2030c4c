#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/generate/completion_generator.h"
#include "coordinator/service/call.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/batch/record.h"
#include "coordinator/transports/batch/run_point.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

class LineWindow;

/// A line of a batch from its reading to its record. The window bounds the responses of all lines
/// together, so that a line waits and is not refused; the line bounds its own response. A response
/// is formed when its record is written, one at a time. Until then a line has only its rows and
/// completions.
class LineCall : public Call {
 public:
  /// `end` is the input behind the line; its counts are not set. `position`: see
  /// InputFile::position. A response that could be larger than `max_response_bytes` is refused.
  LineCall(std::shared_ptr<LineWindow> window, std::size_t bytes, const RunPoint& end,
           std::int64_t position, std::int64_t max_response_bytes);

  HeldBytes& replies() override { return response_; }
  std::optional<proto::Error> StreamFault() const override;

  std::int64_t bytes() const { return bytes_; }
  const RunPoint& end() const { return end_; }
  std::int64_t position() const { return position_; }

  // Before the service has the call.
  void SetCustomId(std::string custom_id) { custom_id_ = std::move(custom_id); }
  /// The line is not a request. Its record has the error and its number.
  void Refuse(proto::Error error, std::int64_t line_number);

  /// Forms the line's record. Takes time. Called at most once, after LineWindow::Ready.
  Record Finish();

 private:
  friend class LineWindow;

  struct Refusal {
    proto::Error error;
    std::int64_t line_number = 0;
  };

  void OnDelta(std::size_t output, CompletionDelta delta) override;
  void OnEnd() override;

  /// Shared with the computing thread, which may not have returned from OnEnd yet when the last
  /// line is written.
  const std::shared_ptr<LineWindow> window_;
  const std::int64_t bytes_;
  const RunPoint end_;
  const std::int64_t position_;
  HeldBytes response_;
  std::optional<std::string> custom_id_;  ///< Absent if the line has none.
  std::optional<Refusal> refusal_;        ///< Set if the line is not a request.

  // Guarded by the window.
  std::int64_t response_bytes_ = 0;  ///< What its response may take of the window.
  bool is_ready_ = false;            ///< Its record can be formed.
};

}  // namespace scorecast::coordinator
