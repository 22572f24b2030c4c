#include "coordinator/transports/connection/connection.h"

#include <array>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "coordinator/transports/connection/turn_executor.h"

namespace scorecast::coordinator {

namespace asio = boost::asio;
using boost::system::error_code;

Connection::Connection(ClientId peer, std::unique_ptr<ByteStream> stream,
                       std::unique_ptr<Protocol> protocol, const ConnectionContext& context,
                       std::shared_ptr<AddressBytes> address_bytes, Closed closed)
    : peer_(std::move(peer)),
      client_(peer_),
      turns_client_(peer_),
      bytes_client_(peer_.address),
      stream_(std::move(stream)),
      protocol_(std::move(protocol)),
      context_(context),
      closed_(std::move(closed)),
      idle_timer_(stream_->get_executor()),
      leaving_timer_(stream_->get_executor()),
      reading_timer_(stream_->get_executor()),
      address_bytes_(std::move(address_bytes)),
      held_replies_(NewReplyCount()),
      room_(std::make_shared<RequestRoom>(stream_->get_executor(), context_.room_patience,
                                          address_bytes_)) {}

std::shared_ptr<HeldBytes> Connection::NewReplyCount() const {
  return std::make_shared<HeldBytes>(front_ == nullptr ? kMaxReplyBytes : kMaxReplyBytesOfFront,
                                     &address_bytes_->replies);
}

void Connection::BecomeFront(Holder front) {
  const bool is_new = front_ == nullptr;
  front_ = std::move(front);
  if (!is_new) {
    return;  // Otherwise its bytes would have no bound.
  }
  // Calls in flight keep the counts that they have.
  address_bytes_ = context_.bytes_of_front();
  held_replies_ = NewReplyCount();
  room_->SetAddress(address_bytes_);
}

void Connection::SetClient(ClientId client, Holder holder) {
  holder_ = std::move(holder);
  client_ = std::move(client);
  if (turns_client_ != client_) {
    turns_client_ = client_;
    const ByteStream::executor_type executor = stream_->get_executor();
    if (const auto* const turns = executor.target<TurnExecutor>()) {
      turns->MoveTo(client_);
    }
  }
  // Otherwise the bytes of a client that changes all the time would have no bound.
  const bool may_move =
      context_.bytes_of && front_ == nullptr && in_flight_.empty() && replies_.empty();
  if (may_move && bytes_client_ != client_.address) {
    bytes_client_ = client_.address;
    address_bytes_ = context_.bytes_of(bytes_client_);
    held_replies_ = NewReplyCount();
    room_->SetAddress(address_bytes_);
  }
}

void Connection::ForgetClient() {
  client_ = peer_;
  holder_ = nullptr;
}

void Connection::Start() {
  asio::post(stream_->get_executor(), [self = shared_from_this()] {
    if (self->is_closed_) {
      return;  // By a shutdown. An idle timer started now would not be cancelled.
    }
    if (!self->is_finishing_) {  // Otherwise the timer counts the linger time already.
      self->WatchIdle();
    }
    self->ReadNext();
  });
}

void Connection::Refuse(proto::Error error) {
  asio::post(stream_->get_executor(), [self = shared_from_this(), error = std::move(error)] {
    if (self->is_closed_) {
      return;
    }
    if (self->is_finishing_) {
      self->ReadNext();  // Shows when the client has closed its side.
      return;
    }
    self->WatchIdle();
    self->SendLastError(error);
  });
}

void Connection::CloseWhenDone() {
  asio::post(stream_->get_executor(), [self = shared_from_this()] {
    self->close_when_done_ = true;
    self->FinishIfDone();
  });
}

void Connection::Close() {
  asio::post(stream_->get_executor(), [self = shared_from_this()] { self->CloseNow(); });
}

void Connection::BeginReading(std::optional<std::chrono::milliseconds> header_timeout) {
  // Not the time of the last read, because the bytes may have come with the request before.
  reading_since_ = Clock::now();
  const Clock::duration wait = IoWait();
  arrived_ = *reading_since_ - wait;
  context_.note_io_wait(wait);
  header_timeout_ = header_timeout;
  read_before_ = stream_->bytes_read();
  room_->BeginRequest();
  LimitReading();
}

void Connection::HoldRequest(std::int64_t before, std::int64_t bytes, Next next) {
  room_->Hold(before, bytes, std::move(next));
}

void Connection::HoldFor(const std::shared_ptr<ConnectionCall>& call,
                         std::shared_ptr<AddressBytes> address, std::int64_t bytes, Next next) {
  const auto room = std::make_shared<RequestRoom>(stream_->get_executor(), context_.room_patience,
                                                  std::move(address));
  rooms_[call.get()] = room;
  room->Hold(/*before=*/0, bytes,
             [self = shared_from_this(), call, next = std::move(next)](Held held) {
               self->rooms_.erase(call.get());
               next(std::move(held));
             });
}

void Connection::EndHolding(const ConnectionCall& call) {
  if (const auto found = rooms_.find(&call); found != rooms_.end()) {
    found->second->Close();
  }
}

void Connection::AwaitBegin(std::function<void()> next) {
  if (is_ending() || MayBegin()) {
    next();
    return;
  }
  begins_ = std::move(next);
  reading_since_.reset();
  PauseReading();
}

std::shared_ptr<ConnectionCall> Connection::BeginRequest(std::unique_ptr<CallFormat> format) {
  reading_since_.reset();
  auto call = std::make_shared<ConnectionCall>(shared_from_this(), std::move(format), arrived_,
                                               RequestBytes());
  in_flight_.emplace(call->number(), call);
  ++context_.counters.requests_in_flight;
  beginning_ = true;
  return call;
}

void Connection::Begun() {
  asio::dispatch(stream_->get_executor(), [self = shared_from_this()] {
    self->beginning_ = false;
    self->ResumeReading();
  });
}

std::size_t Connection::Cancel(std::uint64_t number) {
  std::vector<std::shared_ptr<Call>> admitted;
  const auto begin = in_flight_.lower_bound({number, nullptr});
  auto end = begin;
  for (; end != in_flight_.end() && end->first == number; ++end) {
    context_.memory.Note(end->second->arrived_bytes());
    EndHolding(*end->second);
    if (end->second->Leave()) {
      admitted.push_back(end->second);
    }
  }
  const std::size_t before = in_flight_.size();
  in_flight_.erase(begin, end);
  const std::size_t calls = before - in_flight_.size();
  context_.counters.requests_in_flight -= static_cast<std::int64_t>(calls);
  context_.cancel(admitted);
  return calls;
}

bool Connection::Forget(const std::shared_ptr<ConnectionCall>& call) {
  if (in_flight_.erase({call->number(), call}) == 0) {
    return false;
  }
  context_.memory.Note(call->arrived_bytes());
  --context_.counters.requests_in_flight;
  return true;
}

void Connection::Post(std::function<void()> work) {
  asio::post(stream_->get_executor(), std::move(work));
}

void Connection::ReadNext() {
  if (reading_since_) {
    context_.memory.Note(RequestBytes());  // The request was skipped.
    reading_since_.reset();
  }
  if (is_closed_) {
    return;
  }
  if (is_finishing_) {
    DiscardInput();
    return;
  }
  if (!MayRead()) {
    PauseReading();
    return;
  }
  protocol_->ReadRequest(shared_from_this());
}

Clock::duration Connection::IoWait() const {
  // The bytes arrived at that time or before it.
  const Clock::duration since = stream_->SinceArrival().value_or(Clock::duration(0));
  return since > kArrivalResolution ? since : Clock::duration(0);
}

bool Connection::MayRead() const {
  return !reads_no_more_ && (protocol_->reads_ahead() || MayBegin()) && held_replies_->HasRoom();
}

bool Connection::MayBegin() const {
  return (front_ != nullptr || !beginning_) && in_flight_.size() < max_in_flight() &&
         held_replies_->HasRoom();
}

void Connection::PauseReading() {
  reading_paused_ = true;
  WatchLeaving();
}

void Connection::ResumeReading() {
  if (!reading_paused_ || is_closed_) {
    return;
  }
  if (begins_ ? is_ending() || MayBegin() : is_finishing_ || MayRead()) {
    reading_paused_ = false;
    leaving_timer_.cancel();
    if (!begins_) {
      ReadNext();
      return;
    }
    reading_since_ = Clock::now();  // The rest of the request has the time of a whole one.
    LimitReading();
    std::exchange(begins_, nullptr)();
  }
}

void Connection::DiscardInput() {
  discarded_.resize(kDiscardBytes);
  stream_->async_read_some(asio::buffer(discarded_),
                           [self = shared_from_this()](const error_code& error, std::size_t) {
                             if (error) {
                               self->CloseNow();
                             } else {
                               self->ReadNext();
                             }
                           });
}

void Connection::EndInput() {
  if (is_finishing_ || !in_flight_.empty() || replies_.empty()) {
    CloseNow();
    return;
  }
  has_input_ended_ = true;
  TakeNoMore();
}

void Connection::Deliver(const std::shared_ptr<ConnectionCall>& call, Reply reply) {
  asio::dispatch(stream_->get_executor(),
                 [self = shared_from_this(), call, reply = std::move(reply)]() mutable {
                   self->Take(call, std::move(reply));
                 });
}

void Connection::Take(const std::shared_ptr<ConnectionCall>& call, Reply reply) {
  if (is_closed_ || (reply.is_last ? !Forget(call) : call->has_left())) {
    reply = {};
    ResumeReading();  // The bytes of the reply may have been all that was missing.
    return;
  }
  if (reply.is_last && reply.ends_connection) {
    TakeNoMore();
  }
  Send(std::move(reply));
}

void Connection::Send(Reply reply) {
  if (has_ended()) {
    return;
  }
  replies_.push_back(std::move(reply));
  if (replies_.size() == 1) {
    last_excuse_ = Clock::now();  // Until now there was nothing that the client could have read.
    Write();
  }
}

void Connection::SendError(const proto::Error& error) {
  CountRefusal(error);
  Send(protocol_->ErrorReply(error, *held_replies_));
}

void Connection::SendLastError(const proto::Error& error) {
  reading_paused_ = true;  // Until the reply is written: see Finish.
  EndWith(error);
}

void Connection::TakeNoMore() {
  reads_no_more_ = true;
  close_when_done_ = true;
}

void Connection::EndWith(const proto::Error& error) {
  TakeNoMore();
  SendError(error);
}

void Connection::Write() {
  const Reply& first = replies_.front();
  const std::array<asio::const_buffer, 2> bytes = {
      asio::buffer(first.bytes),
      first.rest == nullptr ? asio::const_buffer() : asio::buffer(*first.rest)};
  asio::async_write(
      *stream_, bytes, [self = shared_from_this()](const error_code& error, std::size_t) {
        if (error || self->is_closed_) {
          self->CloseNow();
          self->replies_.clear();  // Their `written` may refer to this object.
          return;
        }
        const std::function<void()> written = std::move(self->replies_.front().written);
        self->context_.memory.Note(static_cast<std::int64_t>(self->replies_.front().bytes.size()));
        self->replies_.pop_front();
        if (!self->replies_.empty()) {
          self->Write();
        }
        if (written) {
          written();  // Last, because it may send the next reply.
        }
        self->FinishIfDone();
        self->ResumeReading();
      });
}

void Connection::FinishIfDone() {
  if (close_when_done_ && in_flight_.empty() && replies_.empty()) {
    Finish();
  }
}

void Connection::Finish() {
  if (has_ended()) {
    return;
  }
  if (has_input_ended_) {
    CloseNow();
    return;
  }
  is_finishing_ = true;
  stream_->ShutDownSend();
  idle_timer_.expires_after(kLingerTime);
  idle_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) {
      self->CloseNow();
    }
  });
  ResumeReading();
}

void Connection::CloseNow() {
  if (is_closed_) {
    return;
  }
  is_closed_ = true;
  begins_ = nullptr;  // It refers to this object.
  stream_->Close();
  idle_timer_.cancel();
  leaving_timer_.cancel();
  reading_timer_.cancel();
  room_->Close();
  context_.counters.requests_in_flight -= static_cast<std::int64_t>(in_flight_.size());
  context_.memory.Note(kConnectionBytes);
  if (reading_since_) {
    context_.memory.Note(RequestBytes());  // The rest of the request does not come.
  }
  std::vector<std::shared_ptr<Call>> left;
  for (const auto& [number, call] : std::exchange(in_flight_, {})) {
    context_.memory.Note(call->arrived_bytes());
    EndHolding(*call);
    if (call->Leave()) {
      left.push_back(call);
    }
  }
  context_.cancel(left);
  closed_(peer_.connection);
}

}  // namespace scorecast::coordinator
