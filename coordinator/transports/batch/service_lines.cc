#include "coordinator/transports/batch/service_lines.h"

#include <exception>
#include <utility>
#include <vector>

#include "coordinator/endpoints/url_pattern.h"
#include "coordinator/request/request_error.h"
#include "coordinator/transports/batch/line_request.h"

namespace scorecast::coordinator {
namespace {

/// A body that is too much for the memory must not end the process.
ParsedRequest ParseBody(const Endpoint& endpoint, BodyJson body) {
  try {
    return endpoint.FromJson(std::move(body));
  } catch (const std::exception& exception) {
    return proto::Unexpected(FaultOf(exception));
  }
}

}  // namespace

void ServiceLines::Begin(const std::shared_ptr<OpenLine>& line, LineRequest request) {
  const Endpoint& endpoint = *request.endpoint;
  const auto call = std::make_shared<LineCall>(line, max_response_bytes_);
  call->SetEndpoint(endpoint);
  call->SetDefaults(request.default_seed, request.identity);
  ParsedRequest parsed = ParseBody(endpoint, std::move(request.body));
  Clock::duration waited{0};
  if (parsed) {
    NameModel(NamedIn(endpoint.urls(), request.url), **parsed);
    if (!service_.RequestFault(endpoint, **parsed)) {  // Begin refuses others.
      const Clock::time_point waiting_since = Clock::now();
      line->AwaitResponseRoom(service_.ResponseBytesBound(**parsed));
      waited = Clock::now() - waiting_since;
    }
  }
  // The request's own time does not count while it waits for the lines before it.
  call->SetArrived(request.begun + waited);
  Note(call);
  service_.Begin(call, std::move(parsed));
}

void ServiceLines::Note(const std::shared_ptr<LineCall>& call) {
  const std::lock_guard lock(mutex_);
  while (!calls_.empty() && calls_.front().expired()) {
    calls_.pop_front();
  }
  calls_.push_back(call);
  if (is_cancelled_) {
    call->Leave();
  }
}

void ServiceLines::Cancel() {
  std::vector<std::shared_ptr<Call>> left;
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    for (const std::weak_ptr<LineCall>& weak : calls_) {
      const auto call = weak.lock();
      if (call != nullptr && call->Leave()) {
        left.push_back(call);
      }
    }
  }
  service_.Cancel(left);
}

}  // namespace scorecast::coordinator
