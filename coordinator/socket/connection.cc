#include "coordinator/socket/connection.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "coordinator/doors/request_error.h"
#include "coordinator/socket/score_messages.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

proto::Error FrameTooLarge(std::size_t length, std::int64_t limit) {
  return {413, "request_too_large",
          "The request is too large: " + std::to_string(length) + " > " + std::to_string(limit) +
              " bytes.",
          ""};
}

proto::Error Overloaded() {
  return {503, "overloaded", "The server is reading too many large requests.", "", 1};
}

proto::Error TooManyAnswers() {
  return {503, "overloaded", "The server holds too many large answers.", "", 1};
}

proto::Error AnswerTooLarge(std::int64_t bytes, std::int64_t limit) {
  return {413, "answer_too_large",
          "The answer would be too large: up to " + std::to_string(bytes) + " > " +
              std::to_string(limit) + " bytes.",
          ""};
}

}  // namespace

Connection::Connection(std::uint64_t id, Socket socket, ConnectionContext& context, Closed closed)
    : id_(id),
      socket_(std::move(socket)),
      context_(context),
      closed_(std::move(closed)),
      idle_timer_(socket_.get_executor()) {}

void Connection::Start() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->is_closed_) {
      return;  // By a shutdown. Nothing would end the idle timer before its time.
    }
    self->WatchIdle();
    self->ReadHeader();
  });
}

void Connection::Refuse(proto::Error error) {
  asio::post(socket_.get_executor(), [self = shared_from_this(), error = std::move(error)] {
    if (self->is_closed_) {
      return;
    }
    self->WatchIdle();
    self->reading_paused_ = true;  // Until it is told: see Finish.
    self->close_when_done_ = true;
    self->AnswerError(0, error);
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
    return;
  }
  asio::async_read(socket_, asio::buffer(header_),
                   [self = shared_from_this()](error_code error, std::size_t) {
                     if (error) {
                       self->CloseNow();
                       return;
                     }
                     self->Progress();
                     const std::size_t length = proto::FrameLength(self->header_);
                     const std::int64_t limit = self->context_.options.max_request_bytes;
                     if (self->is_finishing_) {
                       self->SkipMessage(length);
                     } else if (length > static_cast<std::size_t>(limit)) {
                       self->AnswerError(0, FrameTooLarge(length, limit));
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
  if (!HoldMessageBytes(piece)) {
    ReleaseMessage();
    AnswerError(0, Overloaded());
    SkipMessage(length - have);
    return;
  }
  message_.resize(have + piece);
  asio::async_read(socket_, asio::buffer(message_.data() + have, piece),
                   [self = shared_from_this(), length](error_code error, std::size_t) {
                     if (error) {
                       self->CloseNow();
                       return;
                     }
                     self->Progress();
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
      socket_, asio::buffer(message_),
      [self = shared_from_this(), rest = length - piece](error_code error, std::size_t) {
        if (error) {
          self->CloseNow();
          return;
        }
        self->Progress();
        self->SkipMessage(rest);
      });
}

void Connection::HandleMessage() {
  v1::Request request;
  const std::size_t message_bytes = message_.size();
  const bool parsed = request.ParseFromString(message_);
  ReleaseMessage();
  if (is_finishing_) {
    return;
  }
  if (!parsed) {
    AnswerError(0, BadRequest("not_a_message",
                              "The frame is not a scorecast.v1.Request, or a text in it is not "
                              "valid UTF-8.",
                              ""));
    return;
  }
  switch (request.door_case()) {
    case v1::Request::kScore:
      HandleScore(request.request_id(), request.score(), message_bytes);
      return;
    case v1::Request::DOOR_NOT_SET:
      break;
  }
  AnswerError(
      request.request_id(),
      BadRequest("unknown_door", "The request asks for nothing that this server knows.", ""));
}

void Connection::HandleScore(std::uint64_t request_id, const v1::ScoreRequest& message,
                             std::size_t message_bytes) {
  if (context_.draining) {
    AnswerError(request_id, Draining());
    return;
  }
  proto::Expected<ScoreRequest> request = ScoreRequestFromMessage(message);
  if (!request) {
    AnswerError(request_id, request.error());
    return;
  }
  const std::int64_t answer_bytes = AnswerBytesBound(*request);
  const std::int64_t limit = context_.options.max_held_bytes;
  HoldAnswerBytes(answer_bytes);
  if (answer_bytes > kSmallAnswerBytes && context_.answer_bytes > limit) {
    HoldAnswerBytes(-answer_bytes);
    AnswerError(request_id,
                answer_bytes > limit ? AnswerTooLarge(answer_bytes, limit) : TooManyAnswers());
    return;
  }
  // Not the client's number: nothing keeps a client from using one twice.
  const std::uint64_t number = next_request_++;
  in_flight_.emplace(number, InFlight{Scheduler::kNoTicket, answer_bytes});
  if (message_bytes <= kLongMessageBytes) {
    Ask(request_id, number, *request, Clock::now());
    return;
  }
  asio::post(context_.long_messages,
             [self = shared_from_this(), request_id, number, request = *std::move(request),
              arrived = Clock::now(), held = HoldWhileAsked(message_bytes)] {
               if (!self->is_closed_) {
                 self->Ask(request_id, number, request, arrived);
               }
             });
}

void Connection::Ask(std::uint64_t request_id, std::uint64_t number, const ScoreRequest& request,
                     Clock::time_point arrived) {
  const Scheduler::Ticket ticket = context_.service.Score(
      request, arrived,
      [self = shared_from_this(), request_id, number](ScoreService::Finish finish) {
        // From the computing thread: the answer is formed on an I/O thread.
        asio::post(self->socket_.get_executor(),
                   [self, request_id, number, finish = std::move(finish)] {
                     self->AnswerScore(request_id, number, finish);
                   });
      });
  asio::dispatch(socket_.get_executor(), [self = shared_from_this(), number, ticket] {
    if (self->is_closed_) {
      self->context_.service.Cancel({ticket});
      return;
    }
    const auto entry = self->in_flight_.find(number);
    if (entry != self->in_flight_.end()) {
      entry->second.ticket = ticket;
    }
  });
}

void Connection::AnswerScore(std::uint64_t request_id, std::uint64_t number,
                             const ScoreService::Finish& finish) {
  if (is_closed_) {
    return;
  }
  const auto entry = in_flight_.find(number);
  HoldAnswerBytes(-entry->second.answer_bytes);
  in_flight_.erase(entry);
  const proto::Expected<ScoreResponse> response = finish();
  if (!response) {
    AnswerError(request_id, response.error());
    return;
  }
  v1::Response answer;
  answer.set_request_id(request_id);
  ToMessage(*response, *answer.mutable_score());
  Answer(answer);
}

void Connection::AnswerError(std::uint64_t request_id, const proto::Error& error) {
  v1::Response answer;
  answer.set_request_id(request_id);
  ToMessage(error, *answer.mutable_error());
  Answer(answer);
}

void Connection::Answer(const v1::Response& response) {
  if (is_closed_) {
    return;
  }
  answers_.push_back(proto::ToFrame(response));
  HoldAnswerBytes(static_cast<std::int64_t>(answers_.back().size()));
  if (answers_.size() == 1) {
    Progress();  // Until now there was nothing that the client could have read.
    Write();
  }
}

void Connection::Write() {
  asio::async_write(
      socket_, asio::buffer(answers_.front()),
      [self = shared_from_this()](error_code error, std::size_t) {
        if (error) {
          self->CloseNow();
          return;
        }
        self->Progress();
        self->HoldAnswerBytes(-static_cast<std::int64_t>(self->answers_.front().size()));
        self->answers_.pop_front();
        if (!self->answers_.empty()) {
          self->Write();
        }
        self->FinishIfDone();
        self->ResumeReading();
      });
}

bool Connection::MayRead() const {
  if (is_finishing_ || answer_bytes_ == 0) {
    return true;
  }
  return in_flight_.size() < kMaxInFlight && answer_bytes_ < kMaxAnswerBytes &&
         context_.answer_bytes < context_.options.max_held_bytes;
}

void Connection::ResumeReading() {
  if (reading_paused_ && MayRead()) {
    reading_paused_ = false;
    ReadHeader();
  }
}

bool Connection::HoldMessageBytes(std::size_t bytes) {
  const std::int64_t limit =
      std::max(context_.options.max_held_bytes, context_.options.max_request_bytes);
  const auto more = static_cast<std::int64_t>(bytes);
  std::int64_t held = context_.message_bytes;
  do {
    if (held + more > limit) {
      return false;
    }
  } while (!context_.message_bytes.compare_exchange_weak(held, held + more));
  held_bytes_ += bytes;
  return true;
}

std::shared_ptr<void> Connection::HoldWhileAsked(std::size_t bytes) {
  const auto count = static_cast<std::int64_t>(bytes);
  context_.message_bytes += count;
  return {nullptr, [&context = context_, count](void*) { context.message_bytes -= count; }};
}

void Connection::HoldAnswerBytes(std::int64_t bytes) {
  answer_bytes_ += bytes;
  context_.answer_bytes += bytes;
}

void Connection::ReleaseMessage() {
  // Its room is not kept for as long as the client is there.
  std::string().swap(message_);
  context_.message_bytes.fetch_sub(static_cast<std::int64_t>(held_bytes_));
  held_bytes_ = 0;
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
    if (is_waiting_for_us) {
      self->Progress();
    }
    if (Clock::now() - self->last_progress_ >= self->context_.options.idle_timeout) {
      self->CloseNow();
    } else {
      self->WatchIdle();
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
  HoldAnswerBytes(-answer_bytes_);
  std::vector<Scheduler::Ticket> tickets;
  for (const auto& [number, request] : in_flight_) {
    tickets.push_back(request.ticket);
  }
  context_.service.Cancel(std::move(tickets));
  closed_(id_);
}

}  // namespace scorecast::coordinator
