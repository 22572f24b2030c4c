#include "coordinator/transports/connection/delta_stream.h"

#include <utility>

#include <boost/asio/post.hpp>

namespace scorecast::coordinator {
namespace {

void Append(CompletionDelta delta, CompletionDelta& to) {
  to.text += delta.text;
  to.token_ids.insert(to.token_ids.end(), delta.token_ids.begin(), delta.token_ids.end());
  to.finish_reason = delta.finish_reason;
}

}  // namespace

DeltaStream::DeltaStream(std::shared_ptr<ReplyFormat> format,
                         std::shared_ptr<PendingRequest> pending,
                         boost::asio::any_io_executor executor, Replied replied)
    : format_(std::move(format)),
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
      reply.bytes += format_->Delta(output, delta);
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
