#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "coordinator/service/request_service.h"
#include "coordinator/transports/batch/line_call.h"
#include "coordinator/transports/batch/line_computer.h"

namespace scorecast::coordinator {

/// Lines of a batch that a service of this process computes. Lines are parsed and tokenized on the
/// thread that reads them.
class ServiceLines : public LineComputer {
 public:
  /// `service` outlives the object. A request whose response could be larger than
  /// `max_response_bytes` is refused with a 413, as on the request socket: see
  /// SocketOptions::max_held_bytes.
  explicit ServiceLines(RequestService& service,
                        std::int64_t max_response_bytes = std::int64_t{1} << 30)
      : service_(service), max_response_bytes_(max_response_bytes) {}

  EndpointList endpoints() const override { return service_.endpoints(); }
  std::int64_t max_values() const override { return service_.max_values(); }
  /// See Scheduler.
  void WaitForRoom() override { service_.WaitForRoom(); }
  void Begin(const std::shared_ptr<OpenLine>& line, LineRequest request) override;
  /// What the pass in flight completes still gets its record.
  void StopSoon() override { service_.StopAfterPass(); }
  bool is_stopping() const override { return service_.is_draining(); }
  void Cancel() override;

 private:
  /// Notes a call, which Cancel then ends.
  void Note(const std::shared_ptr<LineCall>& call);

  RequestService& service_;
  const std::int64_t max_response_bytes_;
  std::mutex mutex_;
  std::deque<std::weak_ptr<LineCall>> calls_;  ///< In the order of the lines; some may be gone.
  bool is_cancelled_ = false;
};

}  // namespace scorecast::coordinator
