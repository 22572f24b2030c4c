#include "coordinator/service/active_request.h"

#include <utility>

namespace scorecast::coordinator {

ActiveRequest::ActiveRequest(const Endpoint& endpoint, Clock::time_point arrived,
                             std::shared_ptr<ResponseSink> sink)
    : endpoint_(endpoint), arrived_(arrived), client_(sink->client()), id_(sink->request_id()) {
  parts_.sink = std::move(sink);
}

void ActiveRequest::Accept(std::unique_ptr<EndpointRequest> parsed, Held bytes,
                           std::int64_t reply_bytes, Held room,
                           std::optional<Clock::time_point> deadline) {
  reply_bytes_ = reply_bytes;
  deadline_ = deadline;
  parts_.parsed = std::move(parsed);
  parts_.bytes = std::move(bytes);
  parts_.room = std::move(room);
}

std::optional<ActiveRequest::Parts> ActiveRequest::TakeParsed() {
  const std::lock_guard lock(mutex_);
  if (is_over_) {
    return std::nullopt;
  }
  Parts taken;
  taken.parsed = std::move(parts_.parsed);
  taken.bytes = std::move(parts_.bytes);
  return taken;
}

void ActiveRequest::Delta(std::size_t output, CompletionDelta delta) {
  const std::lock_guard lock(mutex_);
  if (!is_over_) {
    parts_.sink->OnDelta(output, std::move(delta));
  }
}

bool ActiveRequest::Queued(JobTicket ticket) {
  const std::lock_guard lock(mutex_);
  parts_.ticket = ticket;
  return !is_over_;
}

std::optional<ActiveRequest::Parts> ActiveRequest::End() {
  const std::lock_guard lock(mutex_);
  if (is_over_.exchange(true)) {
    return std::nullopt;
  }
  return std::exchange(parts_, {});
}

}  // namespace scorecast::coordinator
