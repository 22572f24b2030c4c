#include "coordinator/transports/socket/connection.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <poll.h>

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// That the other side will send no more, though what it sent may still have to be read.
bool HasHungUp(Connection::Socket& socket) {
  pollfd descriptor = {.fd = socket.native_handle(), .events = POLLRDHUP, .revents = 0};
  return poll(&descriptor, 1, 0) > 0;
}

proto::Error FrameTooLarge(std::size_t length, std::int64_t limit) {
  return {413, "request_too_large",
          "The request is too large: " + std::to_string(length) + " > " + std::to_string(limit) +
              " bytes.",
          ""};
}

proto::Error Overloaded() {
  return {503, "overloaded", "The server is reading too many large requests.", "", 1};
}

}  // namespace

auto Connection::WithProgress() {
  return [this](const error_code& error, std::size_t) -> std::size_t {
    Progress();
    return error ? 0 : kPieceBytes;
  };
}

Connection::Connection(std::uint64_t id, Socket socket, ConnectionContext& context, Closed closed)
    : id_(id),
      socket_(std::move(socket)),
      context_(context),
      closed_(std::move(closed)),
      idle_timer_(socket_.get_executor()),
      leaving_timer_(socket_.get_executor()),
      held_answers_(kMaxAnswerBytes, &context.handler.replies()) {}

void Connection::Start() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->is_closed_) {
      return;  // By a shutdown. Nothing would end the idle timer before its time.
    }
    if (!self->is_finishing_) {  // Else its time is counted already.
      self->WatchIdle();
    }
    self->ReadHeader();
  });
}

void Connection::Refuse(proto::Error error) {
  asio::post(socket_.get_executor(), [self = shared_from_this(), error = std::move(error)] {
    if (self->is_closed_) {
      return;
    }
    if (self->is_finishing_) {
      self->ReadHeader();  // Which shows that the client has closed its side.
      return;
    }
    self->WatchIdle();
    self->reading_paused_ = true;  // Until it is told: see Finish.
    self->close_when_done_ = true;
    self->AnswerError(error);
  });
}

void Connection::CloseWhenDone() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->close_when_done_ = true;
    self->FinishIfDone();
  });
}

void Connection::Close() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->CloseNow(); });
}

void Connection::ReadHeader() {
  if (is_closed_) {
    return;
  }
  if (!MayRead()) {
    reading_paused_ = true;
    WatchLeaving();
    return;
  }
  asio::async_read(socket_, asio::buffer(header_), WithProgress(),
                   [self = shared_from_this()](error_code error, std::size_t) {
                     if (error) {
                       self->CloseNow();
                       return;
                     }
                     const std::size_t length = proto::FrameLength(self->header_);
                     const std::int64_t limit = self->context_.options.max_request_bytes;
                     if (self->is_finishing_) {
                       self->SkipMessage(length);
                     } else if (length > static_cast<std::size_t>(limit)) {
                       self->AnswerError(FrameTooLarge(length, limit));
                       self->SkipMessage(length);
                     } else {
                       self->ReadMessage(length);
                     }
                   });
}

void Connection::ReadMessage(std::size_t length) {
  if (is_closed_) {
    return;
  }
  const std::size_t have = message_.size();
  if (have == length) {
    HandleMessage();
    ReadHeader();
    return;
  }
  const std::size_t piece = std::min(length - have, kPieceBytes);
  Held held = context_.messages.TryHold(static_cast<std::int64_t>(piece));
  if (held == nullptr) {
    ReleaseMessage();
    AnswerError(Overloaded());
    SkipMessage(length - have);
    return;
  }
  held_.push_back(std::move(held));
  message_.resize(have + piece);
  asio::async_read(socket_, asio::buffer(message_.data() + have, piece), WithProgress(),
                   [self = shared_from_this(), length](error_code error, std::size_t) {
                     if (error) {
                       self->CloseNow();
                       return;
                     }
                     self->ReadMessage(length);
                   });
}

void Connection::SkipMessage(std::size_t length) {
  if (length == 0) {
    ReleaseMessage();
    ReadHeader();
    return;
  }
  const std::size_t piece = std::min(length, kPieceBytes);
  message_.resize(piece);
  asio::async_read(
      socket_, asio::buffer(message_), WithProgress(),
      [self = shared_from_this(), rest = length - piece](error_code error, std::size_t) {
        if (error) {
          self->CloseNow();
          return;
        }
        self->SkipMessage(rest);
      });
}

void Connection::HandleMessage() {
  if (is_finishing_) {
    ReleaseMessage();
    return;
  }
  const std::uint64_t number = next_request_++;
  const auto pending = std::make_shared<PendingRequest>(held_answers_);
  in_flight_.emplace(number, pending);
  auto held = std::make_shared<std::vector<Held>>(std::move(held_));
  std::string message = std::move(message_);
  ReleaseMessage();
  beginning_ = true;
  context_.handler.Handle(
      std::move(message), std::move(held), pending,
      [self = shared_from_this()] {
        asio::dispatch(self->socket_.get_executor(), [self] {
          self->beginning_ = false;
          self->ResumeReading();
        });
      },
      [self = shared_from_this(), number](Reply reply) {
        asio::dispatch(self->socket_.get_executor(),
                       [self, number, reply = std::move(reply)]() mutable {
                         self->Deliver(number, std::move(reply));
                       });
      });
}

void Connection::Deliver(std::uint64_t number, Reply reply) {
  if (is_closed_) {
    return;
  }
  if (reply.is_last) {
    in_flight_.erase(number);
  }
  Answer(std::move(reply));
}

void Connection::AnswerError(const proto::Error& error) {
  Answer(ErrorReply(0, error, held_answers_));
}

void Connection::Answer(Reply reply) {
  if (is_closed_) {
    return;
  }
  answers_.push_back(std::move(reply));
  if (answers_.size() == 1) {
    Progress();  // Until now there was nothing that the client could have read.
    Write();
  }
}

void Connection::Write() {
  asio::async_write(socket_, asio::buffer(answers_.front().frames), WithProgress(),
                    [self = shared_from_this()](error_code error, std::size_t) {
                      if (error) {
                        self->CloseNow();
                        self->answers_.clear();  // Who waits for their end may hold us.
                        return;
                      }
                      const std::function<void()> written =
                          std::move(self->answers_.front().written);
                      self->answers_.pop_front();
                      if (written) {
                        written();
                      }
                      if (!self->answers_.empty()) {
                        self->Write();
                      }
                      self->FinishIfDone();
                      self->ResumeReading();
                    });
}

bool Connection::MayRead() const {
  return is_finishing_ ||
         (!beginning_ && in_flight_.size() < kMaxInFlight && held_answers_.HasRoom());
}

void Connection::ResumeReading() {
  if (reading_paused_ && MayRead()) {
    reading_paused_ = false;
    leaving_timer_.cancel();
    ReadHeader();
  }
}

void Connection::ReleaseMessage() {
  // Its room is not kept for as long as the client is there.
  std::string().swap(message_);
  held_.clear();
}

void Connection::Progress() { last_progress_ = Clock::now(); }

void Connection::WatchIdle() {
  idle_timer_.expires_at(last_progress_ + context_.options.idle_timeout);
  idle_timer_.async_wait([self = shared_from_this()](error_code error) {
    if (error || self->is_closed_ || self->is_finishing_) {
      return;
    }
    // A request being computed is not the client's silence; an answer that it does not read is.
    const bool is_waiting_for_us = !self->in_flight_.empty() && self->answers_.empty();
    // It may have come in time, on a machine that stood still.
    error_code ignored;
    const bool has_sent = !self->reading_paused_ && self->socket_.available(ignored) > 0;
    if (is_waiting_for_us || has_sent) {
      self->Progress();
    }
    if (Clock::now() - self->last_progress_ >= self->context_.options.idle_timeout) {
      self->CloseNow();
    } else {
      self->WatchIdle();
    }
  });
}

void Connection::WatchLeaving() {
  leaving_timer_.expires_after(kLeaveCheck);
  leaving_timer_.async_wait([self = shared_from_this()](error_code error) {
    if (error || self->is_closed_ || !self->reading_paused_) {
      return;
    }
    if (HasHungUp(self->socket_)) {
      self->CloseNow();
    } else {
      self->WatchLeaving();
    }
  });
}

void Connection::FinishIfDone() {
  if (close_when_done_ && in_flight_.empty() && answers_.empty()) {
    Finish();
  }
}

void Connection::Finish() {
  if (is_closed_ || is_finishing_) {
    return;
  }
  is_finishing_ = true;
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  idle_timer_.expires_after(kLingerTime);
  idle_timer_.async_wait([self = shared_from_this()](error_code error) {
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
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
  ReleaseMessage();
  idle_timer_.cancel();
  leaving_timer_.cancel();
  std::vector<Scheduler::Ticket> tickets;
  for (const auto& [number, pending] : in_flight_) {
    tickets.push_back(pending->Leave());
  }
  context_.handler.Cancel(std::move(tickets));
  closed_(id_);
}

}  // namespace scorecast::coordinator
