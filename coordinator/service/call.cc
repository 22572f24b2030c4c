#include "coordinator/service/call.h"

#include <chrono>
#include <exception>
#include <utility>

#include "coordinator/request/request_error.h"
#include "coordinator/request/request_log.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

proto::Error ClientLeft() {
  return {499, "client_left", "The client left before its request was computed.", ""};
}

Call::~Call() {
  if (is_over_) {
    Observe(ClientLeft().code, nullptr);
  }
}

bool Call::Leave() {
  const std::lock_guard lock(mutex_);
  has_left_ = true;
  return is_admitted_;
}

void Call::Accept(std::unique_ptr<EndpointRequest> request, std::int64_t reply_bytes, Held room,
                  std::optional<Clock::time_point> deadline) {
  if (request != nullptr) {
    streams_ = request->streams();
    request->default_seed = default_seed_;
    request->identity = identity_;
    request->sent = std::move(sent_);
  }
  reply_bytes_ = reply_bytes;
  deadline_ = deadline;
  request_ = std::move(request);
  room_ = std::move(room);
}

bool Call::Admitted() {
  const std::lock_guard lock(mutex_);
  is_admitted_ = true;
  return !has_left_;
}

std::pair<std::unique_ptr<EndpointRequest>, Held> Call::TakeRequest() {
  const std::lock_guard lock(mutex_);
  if (is_over_) {
    return {};
  }
  prepared_since_ = Clock::now();
  return {std::move(request_), std::move(bytes_)};
}

bool Call::Prepared(std::shared_ptr<Readout> readout, coordinator::FormDelta form_delta,
                    std::string model) {
  const std::lock_guard lock(mutex_);
  if (is_over_) {
    return false;
  }
  readout_ = std::move(readout);
  form_delta_ = std::move(form_delta);
  model_ = std::move(model);
  queued_since_ = Clock::now();
  return true;
}

bool Call::Queued(JobTicket ticket) {
  const std::lock_guard lock(mutex_);
  ticket_ = ticket;
  return !is_over_;
}

void Call::Delta(std::size_t output, CompletionDelta delta) {
  const std::lock_guard lock(mutex_);
  if (!is_over_) {
    OnDelta(output, std::move(delta));
  }
}

std::unique_ptr<EndpointResponse> Call::FormDelta(std::size_t output, CompletionDelta delta) const {
  const CompletionPosition reached = delta.reached;
  auto response = form_delta_(output, std::move(delta));
  response->SetModel(model_);
  response->SetPosition({output, reached});
  return response;
}

bool Call::End(JobResult result) {
  const std::lock_guard lock(mutex_);
  if (is_over_.exchange(true)) {
    return false;
  }
  result_ = std::move(result);
  return true;
}

std::optional<JobTicket> Call::End(proto::Error error) {
  // Freed without the lock, because the computing thread may wait for it with a delta.
  std::unique_ptr<EndpointRequest> request;
  Held bytes;
  Held room;
  std::shared_ptr<Readout> readout;
  const std::lock_guard lock(mutex_);
  if (is_over_.exchange(true)) {
    return std::nullopt;
  }
  error_ = std::move(error);
  request = std::move(request_);
  bytes = std::move(bytes_);
  room = std::move(room_);
  readout = std::move(readout_);
  return ticket_;
}

void Call::TellEnd() {
  if (error_) {
    if (endpoint_ != nullptr) {
      LogRefusal(endpoint_->name(), id(), HolderName(), *error_);
    }
    Observe(error_->code, nullptr);
  }
  OnEnd();
}

Expected<std::unique_ptr<EndpointResponse>> Call::Respond() {
  auto response = Form();
  if (response) {
    constexpr int kOk = 200;
    Observe(kOk, response->get());
  } else {
    Observe(response.error().code, nullptr);
  }
  readout_.reset();
  result_.reset();
  return response;
}

Expected<std::unique_ptr<EndpointResponse>> Call::Form() {
  if (error_) {
    return Unexpected(*error_);
  }
  auto response = [this]() -> Expected<std::unique_ptr<EndpointResponse>> {
    try {
      return readout_->Respond(*result_->rows);
    } catch (const std::exception& exception) {
      return Unexpected(FaultOf(exception));
    }
  }();
  if (!response) {
    LogRefusal(endpoint_->name(), id(), HolderName(), response.error());
    return response;
  }
  (*response)->Complete(model_, {.usage = {.prompt_tokens = readout_->prompt_tokens,
                                           .cached_tokens = result_->cached_tokens},
                                 .timings = timings(),
                                 .items = readout_->Items()});
  const ResponseFigures& figures = (*response)->figures();
  LogResponse(endpoint_->name(), id(), HolderName(), readout_->Summary(), figures.usage,
              figures.timings);
  return response;
}

std::string_view Call::HolderName() const {
  return holder_ == nullptr ? std::string_view() : std::string_view(holder_->key.name);
}

Timings Call::timings() const {
  const auto milliseconds = [](Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
  };
  return {.queue_ms = milliseconds(result_->started - queued_since_),
          .tokenize_ms = milliseconds(queued_since_ - prepared_since_),
          .forward_ms = milliseconds(result_->finished - result_->started),
          .total_ms = milliseconds(result_->finished - arrived_)};
}

void Call::Observe(int code, const EndpointResponse* response) {
  if (observer_ != nullptr) {
    std::exchange(observer_, nullptr)->OnEnd({endpoint_, client_.address, code, response});
  }
}

}  // namespace scorecast::coordinator
