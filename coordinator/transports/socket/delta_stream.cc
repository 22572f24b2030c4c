#include "coordinator/transports/socket/delta_stream.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace {

void Append(CompletionDelta delta, CompletionDelta& to) {
  to.text += delta.text;
  to.token_ids.insert(to.token_ids.end(), delta.token_ids.begin(), delta.token_ids.end());
  to.finish_reason = delta.finish_reason;
}

}  // namespace

DeltaStream::DeltaStream(const Endpoint& endpoint, std::uint64_t request_id,
                         std::shared_ptr<PendingRequest> pending,
                         boost::asio::any_io_executor executor, Replied replied)
    : endpoint_(endpoint),
      request_id_(request_id),
      pending_(std::move(pending)),
      executor_(std::move(executor)),
      replied_(std::move(replied)) {}

void DeltaStream::Add(std::size_t output, CompletionDelta delta) {
  const std::lock_guard lock(mutex_);
  Append(std::move(delta), waiting_[output]);
  if (!std::exchange(is_busy_, true)) {
    Post();
  }
}

void DeltaStream::Finish(std::function<void()> respond) {
  const std::lock_guard lock(mutex_);
  respond_ = std::move(respond);
  if (!std::exchange(is_busy_, true)) {
    Post();
  }
}

void DeltaStream::Post() {
  boost::asio::post(executor_, [self = shared_from_this()] { self->Step(); });
}

void DeltaStream::Step() {
  std::map<std::size_t, CompletionDelta> deltas;
  std::function<void()> respond;
  {
    const std::lock_guard lock(mutex_);
    deltas.swap(waiting_);
    if (pending_->HasLeft()) {
      respond_ = nullptr;
      return;  // Stays busy, so no further step is posted.
    }
    respond.swap(respond_);
    is_busy_ = !deltas.empty();
  }
  if (!deltas.empty()) {
    Reply reply;
    for (const auto& [output, delta] : deltas) {
      v1::Response response;
      response.set_request_id(request_id_);
      endpoint_.ToMessage(output, delta, response);
      reply.bytes += proto::ToFrame(response);
    }
    reply.held = pending_->replies().Hold(static_cast<std::int64_t>(reply.bytes.size()));
    reply.is_last = false;
    reply.written = [self = shared_from_this()] { self->Post(); };
    replied_(std::move(reply));
  }
  if (respond) {
    respond();
  }
}

}  // namespace scorecast::coordinator
