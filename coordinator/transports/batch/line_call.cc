#include "coordinator/transports/batch/line_call.h"

#include <utility>

#include "coordinator/request/request_error.h"
#include "coordinator/transports/batch/line_window.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

LineCall::LineCall(std::shared_ptr<LineWindow> window, std::size_t bytes, const RunPoint& end,
                   std::int64_t position, std::int64_t max_response_bytes)
    : Call(ClientId{}, Clock::now()),
      window_(std::move(window)),
      bytes_(static_cast<std::int64_t>(bytes)),
      end_(end),
      position_(position),
      response_(max_response_bytes) {}

std::optional<proto::Error> LineCall::StreamFault() const {
  return BadRequest("stream_not_here",
                    "A line of a batch gets one response: stream must be false. The request "
                    "socket streams.",
                    "stream");
}

void LineCall::Refuse(proto::Error error, std::int64_t line_number) {
  refusal_ = {std::move(error), line_number};
  window_->Ready(*this);
}

Record LineCall::Finish() {
  return refusal_ ? ErrorRecord(custom_id_, refusal_->error, refusal_->line_number)
                  : ResponseRecord(*custom_id_, *endpoint(), Respond());
}

void LineCall::OnDelta(std::size_t /*output*/, CompletionDelta /*delta*/) {
  proto::Check(false, "requests that stream are refused");
}

void LineCall::OnEnd() { window_->Ready(*this); }

}  // namespace scorecast::coordinator
