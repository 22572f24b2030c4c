#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "coordinator/service/request_service.h"
#include "coordinator/transports/batch/record.h"
#include "coordinator/transports/batch/run_point.h"

namespace scorecast::coordinator {

/// Bounds on the lines that are read and not yet written; a single line is always admitted.
/// Scheduler::WaitForRoom bounds what waits to be computed.
struct WindowLimits {
  std::size_t max_lines = 1024;
  std::int64_t max_bytes = std::int64_t{8} << 20;
  /// Bounds the responses of these lines: see EndpointRequest::ResponseBytesBound.
  std::int64_t max_response_bytes = std::int64_t{256} << 20;
};

/// The lines that were read and are not written yet, in their order. Shared by the thread that
/// reads, the thread that writes, and the computing thread, which says which records are ready.
class LineWindow {
 public:
  explicit LineWindow(const WindowLimits& limits) : limits_(limits) {}

  struct Slot {
    std::int64_t bytes = 0;
    std::int64_t response_bytes = 0;  ///< Bound on its response.
    RunPoint end;                     ///< The input behind the line. Its counts are not set.
    std::int64_t position = 0;        ///< See InputFile::position.
    FinishRecord finish;              ///< Set when the line's record can be formed.
    RequestService::Request request;  ///< Null if the line is not a request, or has no request yet.
  };

  /// Waits for room for a line. Null if no further line need be read: Stop was called.
  std::shared_ptr<Slot> Open(std::int64_t bytes, const RunPoint& end, std::int64_t position);

  /// Waits for room for the response of the line opened last. There is always room if all earlier
  /// lines are written. Returns at once after Stop.
  void AwaitResponseRoom(Slot& slot, std::int64_t bytes);

  /// Records the line's request. False if Cancel was called: the caller must then cancel the
  /// request.
  bool Admitted(Slot& slot, const RequestService::Request& request);

  void Ready(Slot& slot, FinishRecord finish);

  /// No further line is opened.
  void Close();

  /// Waits until the record of the oldest line is ready, and returns the line. Null when the window
  /// is closed and all lines are written. If it has to wait, it first calls `before_waiting`,
  /// without holding the lock. It calls it again after Stop, and at the time that the call before
  /// returned, if it returned one.
  std::shared_ptr<Slot> Take(
      const std::function<std::optional<Clock::time_point>()>& before_waiting);

  /// Frees the room of the line taken last, which is written.
  void Written();

  /// From now on Open gives no room. Lines that are open stay.
  void Stop();
  bool is_stopped() const;

  /// Stops, and returns the requests to cancel.
  std::vector<RequestService::Request> Cancel();

 private:
  bool HasRoom(std::int64_t bytes) const;

  const WindowLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Slot>> slots_;
  std::int64_t bytes_ = 0;
  std::int64_t response_bytes_ = 0;
  bool closed_ = false;
  bool stopped_ = false;
  bool cancelled_ = false;
};

}  // namespace scorecast::coordinator
