#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "coordinator/schedule/clock.h"
#include "coordinator/transports/batch/open_line.h"

namespace scorecast::coordinator {

/// Bounds on the lines that are read and not yet written; a single line is always admitted.
/// Scheduler::WaitForRoom bounds what waits to be computed.
struct WindowLimits {
  std::size_t max_lines = 1024;
  std::int64_t max_bytes = std::int64_t{8} << 20;
  /// Bounds the responses of these lines, as far as they are known or expected.
  std::int64_t max_response_bytes = std::int64_t{256} << 20;
};

/// The lines that were read and are not written yet, in their order. Shared by the thread that
/// reads, the thread that writes, and whoever computes lines and says which records are ready.
class LineWindow {
 public:
  explicit LineWindow(const WindowLimits& limits) : limits_(limits) {}

  /// Waits for room for a line, and opens it. False if no further line need be read: Stop was
  /// called.
  bool Open(const std::shared_ptr<OpenLine>& line);

  /// Waits for room for the response of the line opened last. There is always room if all earlier
  /// lines are written. Returns at once after Stop.
  void AwaitResponseRoom(OpenLine& line, std::int64_t bytes);

  /// The record of the line can be formed. `response_bytes`: see OpenLine::Ready.
  void Ready(OpenLine& line, std::optional<std::int64_t> response_bytes);

  /// No further line is opened.
  void Close();

  /// Waits until the record of the oldest line is ready, and returns the line. Null when the window
  /// is closed and all lines are written. If it has to wait, it first calls `before_waiting`,
  /// without holding the lock. It calls it again after Stop, and at the time that the call before
  /// returned, if it returned one.
  std::shared_ptr<OpenLine> Take(
      const std::function<std::optional<Clock::time_point>()>& before_waiting);

  /// Frees the room of the line taken last, which is written.
  void Written();

  /// From now on Open gives no room. Lines that are open stay.
  void Stop();
  bool is_stopped() const;

 private:
  bool HasRoom(std::int64_t bytes) const;

  const WindowLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<OpenLine>> lines_;
  std::int64_t bytes_ = 0;
  std::int64_t response_bytes_ = 0;
  bool closed_ = false;
  bool stopped_ = false;
};

}  // namespace scorecast::coordinator
