#include "coordinator/socket/delta_stream.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "coordinator/socket/chunked_messages.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace {

void Append(CompletionDelta delta, CompletionDelta& to) {
  to.text += delta.text;
  to.token_ids.insert(to.token_ids.end(), delta.token_ids.begin(), delta.token_ids.end());
  to.finish_reason = delta.finish_reason;
}

}  // namespace

DeltaStream::DeltaStream(std::uint64_t request_id, std::shared_ptr<PendingRequest> pending,
                         boost::asio::any_io_executor executor, Replied replied)
    : request_id_(request_id),
      pending_(std::move(pending)),
      executor_(std::move(executor)),
      replied_(std::move(replied)) {}

void DeltaStream::Add(std::size_t question, CompletionDelta delta) {
  const std::lock_guard lock(mutex_);
  Append(std::move(delta), waiting_[question]);
  if (!std::exchange(is_busy_, true)) {
    Post();
  }
}

void DeltaStream::Finish(std::function<void()> answer) {
  const std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
  if (!std::exchange(is_busy_, true)) {
    Post();
  }
}

void DeltaStream::Post() {
  boost::asio::post(executor_, [self = shared_from_this()] { self->Step(); });
}

void DeltaStream::Step() {
  std::map<std::size_t, CompletionDelta> deltas;
  std::function<void()> answer;
  {
    const std::lock_guard lock(mutex_);
    deltas.swap(waiting_);
    if (pending_->HasLeft()) {
      answer_ = nullptr;
      return;  // Busy for good: nobody waits for more.
    }
    answer.swap(answer_);
    is_busy_ = !deltas.empty();
  }
  if (!deltas.empty()) {
    Reply reply;
    for (const auto& [question, delta] : deltas) {
      v1::Response response;
      response.set_request_id(request_id_);
      ToMessage(question, delta, *response.mutable_chunked_delta());
      reply.frames += proto::ToFrame(response);
    }
    reply.held = pending_->answers().Hold(static_cast<std::int64_t>(reply.frames.size()));
    reply.is_last = false;
    reply.written = [self = shared_from_this()] { self->Post(); };
    replied_(std::move(reply));
  }
  if (answer) {
    answer();
  }
}

}  // namespace scorecast::coordinator
