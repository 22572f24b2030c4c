#include "coordinator/transports/connection/connection_call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "coordinator/transports/connection/connection.h"

namespace scorecast::coordinator {
namespace {

void Append(CompletionDelta delta, CompletionDelta& to) {
  to.text += delta.text;
  to.token_ids.insert(to.token_ids.end(), delta.token_ids.begin(), delta.token_ids.end());
  std::ranges::move(delta.scored, std::back_inserter(to.scored));
  to.finish_reason = delta.finish_reason;
  to.reached = delta.reached;
}

}  // namespace

Reply ToReply(std::string bytes, HeldBytes& replies, std::shared_ptr<const std::string> rest) {
  bytes.shrink_to_fit();  // A string that grew may have room for twice its bytes.
  const std::size_t all = bytes.size() + (rest == nullptr ? 0 : rest->size());
  Held held = replies.Hold(static_cast<std::int64_t>(all));
  return {.bytes = std::move(bytes), .held = std::move(held), .rest = std::move(rest)};
}

ConnectionCall::ConnectionCall(const std::shared_ptr<Connection>& connection,
                               std::unique_ptr<CallFormat> format, Clock::time_point arrived,
                               std::int64_t arrived_bytes)
    : Call(connection->client(), arrived),
      connection_(connection),
      address_bytes_(connection->address_bytes()),
      replies_(connection->replies()),
      format_(std::move(format)),
      arrived_bytes_(arrived_bytes),
      is_of_front_(connection->front() != nullptr) {
  if (connection->holder() != nullptr) {
    SetHolder(connection->holder());
  }
}

void ConnectionCall::Begun() {
  if (const auto connection = connection_.lock()) {
    connection->Begun();
  }
}

void ConnectionCall::Send(Reply reply) {
  if (const auto connection = connection_.lock()) {
    connection->Deliver(self(), std::move(reply));
  }
}

void ConnectionCall::Post(std::function<void()> work) {
  if (const auto connection = connection_.lock()) {
    connection->Post(std::move(work));
  }
}

void ConnectionCall::OnDelta(std::size_t output, CompletionDelta delta) {
  const std::lock_guard lock(mutex_);
  Append(std::move(delta), waiting_[output]);
  if (!std::exchange(is_busy_, true)) {
    PostStep();
  }
}

void ConnectionCall::OnEnd() {
  if (!streams()) {
    responder_->Respond(self());
  } else {
    const std::lock_guard lock(mutex_);
    has_response_ = true;
    if (!std::exchange(is_busy_, true)) {
      PostStep();
    }
  }
  responder_->Ended();
}

void ConnectionCall::PostStep() {
  Post([self = self()] { self->Step(); });
}

void ConnectionCall::Step() {
  std::map<std::size_t, CompletionDelta> deltas;
  bool responds = false;
  {
    const std::lock_guard lock(mutex_);
    deltas.swap(waiting_);
    if (has_left()) {
      return;  // Stays busy, so no further step is posted.
    }
    responds = std::exchange(has_response_, false);
    is_busy_ = !deltas.empty();
  }
  if (!deltas.empty()) {
    std::string bytes;
    for (auto& [output, delta] : deltas) {
      bytes += responder_->FormDelta(*this, *FormDelta(output, std::move(delta)));
    }
    Reply reply = ToReply(std::move(bytes), replies());
    reply.is_last = false;
    reply.written = [self = self()] { self->PostStep(); };
    Send(std::move(reply));
  }
  if (responds) {
    responder_->Respond(self());
  }
}

}  // namespace scorecast::coordinator
