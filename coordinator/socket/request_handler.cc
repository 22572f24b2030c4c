#include "coordinator/socket/request_handler.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "coordinator/doors/request_error.h"
#include "coordinator/socket/score_messages.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

proto::Error TooManyAnswers() {
  return {503, "overloaded", "The server holds too many large answers.", "", 1};
}

proto::Error AnswerTooLarge(std::int64_t bytes, std::int64_t limit) {
  return {413, "answer_too_large",
          "The answer would be too large: up to " + std::to_string(bytes) + " > " +
              std::to_string(limit) + " bytes.",
          ""};
}

Reply ToReply(const v1::Response& response, HeldBytes& answers) {
  std::string frame = proto::ToFrame(response);
  Held held = answers.Hold(static_cast<std::int64_t>(frame.size()));
  return {std::move(frame), std::move(held)};
}

Reply ScoreReply(std::uint64_t request_id, const ScoreService::Finish& finish, HeldBytes& answers) {
  const proto::Expected<ScoreResponse> response = finish();
  if (!response) {
    return ErrorReply(request_id, response.error(), answers);
  }
  v1::Response answer;
  answer.set_request_id(request_id);
  ToMessage(*response, *answer.mutable_score());
  return ToReply(answer, answers);
}

}  // namespace

Reply ErrorReply(std::uint64_t request_id, const proto::Error& error, HeldBytes& answers) {
  v1::Response answer;
  answer.set_request_id(request_id);
  ToMessage(error, *answer.mutable_error());
  return ToReply(answer, answers);
}

Scheduler::Ticket PendingRequest::Leave() {
  const std::lock_guard lock(mutex_);
  has_left_ = true;
  return ticket_;
}

bool PendingRequest::HasLeft() const {
  const std::lock_guard lock(mutex_);
  return has_left_;
}

bool PendingRequest::Queued(Scheduler::Ticket ticket) {
  const std::lock_guard lock(mutex_);
  ticket_ = ticket;
  return !has_left_;
}

RequestHandler::RequestHandler(ScoreService& service, asio::any_io_executor executor,
                               std::int64_t max_answer_bytes)
    : service_(service), executor_(std::move(executor)), answers_(max_answer_bytes) {}

void RequestHandler::WaitIdle() {
  service_.WaitIdle();  // Its long answers are formed on our thread;
  long_ones_.join();    // which may still have asked for some.
  service_.WaitIdle();
}

void RequestHandler::Handle(std::string message, Held held, std::shared_ptr<PendingRequest> pending,
                            const Begun& begun, const Replied& replied) {
  const Clock::time_point arrived = Clock::now();
  if (message.size() <= kLongBytes) {
    Begin(message, arrived, pending, replied);
    begun();
    return;
  }
  asio::post(long_ones_, [this, message = std::move(message), held = std::move(held), arrived,
                          pending = std::move(pending), begun, replied] {
    if (!pending->HasLeft()) {
      Begin(message, arrived, pending, replied);
    }
    begun();
  });
}

void RequestHandler::Begin(const std::string& message, Clock::time_point arrived,
                           const std::shared_ptr<PendingRequest>& pending, const Replied& replied) {
  v1::Request request;
  if (!request.ParseFromString(message)) {
    replied(ErrorReply(0,
                       BadRequest("not_a_message",
                                  "The frame is not a scorecast.v1.Request, or a text in it is "
                                  "not valid UTF-8.",
                                  ""),
                       pending->answers()));
    return;
  }
  switch (request.door_case()) {
    case v1::Request::kScore:
      Score(request.request_id(), request.score(), arrived, pending, replied);
      return;
    case v1::Request::DOOR_NOT_SET:
      break;
  }
  replied(ErrorReply(
      request.request_id(),
      BadRequest("unknown_door", "The request asks for nothing that this server knows.", ""),
      pending->answers()));
}

void RequestHandler::Score(std::uint64_t request_id, const v1::ScoreRequest& message,
                           Clock::time_point arrived,
                           const std::shared_ptr<PendingRequest>& pending, const Replied& replied) {
  const auto refuse = [&](const proto::Error& error) {
    replied(ErrorReply(request_id, error, pending->answers()));
  };
  if (draining_) {
    refuse(Draining());
    return;
  }
  const proto::Expected<ScoreRequest> request = ScoreRequestFromMessage(message);
  if (!request) {
    refuse(request.error());
    return;
  }
  const std::int64_t bytes = AnswerBytesBound(*request);
  const bool is_long = bytes > static_cast<std::int64_t>(kLongBytes);
  Held room = pending->answers().Hold(bytes);
  if (is_long && answers_.bytes() > answers_.limit()) {
    room.reset();
    refuse(bytes > answers_.limit() ? AnswerTooLarge(bytes, answers_.limit()) : TooManyAnswers());
    return;
  }
  const Scheduler::Ticket ticket = service_.Score(
      *request, arrived,
      [this, request_id, is_long, pending, replied,
       room = std::move(room)](ScoreService::Finish finish) {
        // From the computing thread, which forms no answers.
        auto form = [request_id, pending, replied, room, finish = std::move(finish)]() mutable {
          if (pending->HasLeft()) {
            return;
          }
          Reply reply = ScoreReply(request_id, finish, pending->answers());
          room.reset();
          replied(std::move(reply));
        };
        if (is_long) {
          asio::post(long_ones_, std::move(form));
        } else {
          asio::post(executor_, std::move(form));
        }
      });
  if (!pending->Queued(ticket)) {
    service_.Cancel({ticket});
  }
}

}  // namespace scorecast::coordinator
