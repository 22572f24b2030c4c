#include "coordinator/transports/batch/line_call.h"

#include <string>
#include <utility>

#include "coordinator/request/request_error.h"
#include "coordinator/transports/batch/record.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

proto::Error NoStreamOfLine() {
  return BadRequest("stream_not_here",
                    "A line of a batch gets one response: stream must be false. The request "
                    "socket streams.",
                    "stream");
}

LineCall::LineCall(std::shared_ptr<OpenLine> line, std::int64_t max_response_bytes)
    : Call(ClientId{}, Clock::now()), line_(std::move(line)), response_(max_response_bytes) {}

void LineCall::OnDelta(std::size_t /*output*/, CompletionDelta /*delta*/) {
  proto::Check(false, "requests that stream are refused");
}

void LineCall::OnEnd() {
  const std::shared_ptr<OpenLine> line = std::exchange(line_, nullptr);
  line->Ready([call = shared_from_this()](const std::string& custom_id) {
    return ResponseRecord(custom_id, *call->endpoint(), call->Respond());
  });
}

}  // namespace scorecast::coordinator
