#include "coordinator/socket/request_handler.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "coordinator/doors/request_error.h"
#include "coordinator/socket/chunked_messages.h"
#include "coordinator/socket/delta_stream.h"
#include "coordinator/socket/score_messages.h"

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

proto::Expected<ScoreRequest> Read(const v1::ScoreRequest& message) {
  return ScoreRequestFromMessage(message);
}
proto::Expected<ChunkedRequest> Read(const v1::ChunkedRequest& message) {
  return ChunkedRequestFromMessage(message);
}

void SetAnswer(const ScoreResponse& response, v1::Response& answer) {
  ToMessage(response, *answer.mutable_score());
}
void SetAnswer(const ChunkedResponse& response, v1::Response& answer) {
  ToMessage(response, *answer.mutable_chunked());
}

/// `finish` is a service's.
template <typename Finish>
Reply AnswerReply(std::uint64_t request_id, const Finish& finish, HeldBytes& answers) {
  const auto response = finish();
  if (!response) {
    return ErrorReply(request_id, response.error(), answers);
  }
  v1::Response answer;
  answer.set_request_id(request_id);
  SetAnswer(*response, answer);
  return ToReply(answer, answers);
}

}  // namespace

RequestHandler::RequestHandler(const Services& services, asio::any_io_executor executor,
                               std::int64_t max_answer_bytes)
    : services_(services), executor_(std::move(executor)), answers_(max_answer_bytes) {}

void RequestHandler::WaitIdle() {
  services_.scheduler.WaitIdle();  // Long answers are formed on our thread;
  long_ones_.join();               // which may still have asked for some.
  services_.scheduler.WaitIdle();
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
      Serve(request.score(), {request.request_id(), arrived, pending, replied});
      return;
    case v1::Request::kChunked:
      Serve(request.chunked(), {request.request_id(), arrived, pending, replied});
      return;
    case v1::Request::DOOR_NOT_SET:
      break;
  }
  replied(ErrorReply(
      request.request_id(),
      BadRequest("unknown_door", "The request asks for nothing that this server knows.", ""),
      pending->answers()));
}

template <typename Answer>
Scheduler::Ticket RequestHandler::Ask(const ScoreRequest& request, const Asked& asked,
                                      Answer answer) {
  return services_.score.Score(request, asked.arrived, std::move(answer));
}

template <typename Answer>
Scheduler::Ticket RequestHandler::Ask(const ChunkedRequest& request, const Asked& asked,
                                      Answer answer) {
  if (!request.stream) {
    return services_.chunked.Answer(request, asked.arrived, /*on_delta=*/{}, std::move(answer));
  }
  const auto stream =
      std::make_shared<DeltaStream>(asked.request_id, asked.pending, executor_, asked.replied);
  return services_.chunked.Answer(
      request, asked.arrived,
      // What is generated knows the stream while the job lives, which the answer below is part of.
      [weak = std::weak_ptr(stream)](std::size_t question, CompletionDelta delta) {
        if (const auto own = weak.lock()) {
          own->Add(question, std::move(delta));
        }
      },
      [stream, answer = std::move(answer)](ChunkedService::Finish finish) {
        stream->Finish([answer, finish = std::move(finish)] { answer(finish); });
      });
}

template <typename Message>
void RequestHandler::Serve(const Message& message, const Asked& asked) {
  HeldBytes& answers = asked.pending->answers();
  const auto refuse = [&](const proto::Error& error) {
    asked.replied(ErrorReply(asked.request_id, error, answers));
  };
  if (draining_) {
    refuse(Draining());
    return;
  }
  const auto request = Read(message);
  if (!request) {
    refuse(request.error());
    return;
  }
  const std::int64_t bytes = AnswerBytesBound(*request);
  const bool is_long = bytes > static_cast<std::int64_t>(kLongBytes);
  Held room = answers.Hold(bytes);
  if (is_long && answers_.bytes() > answers_.limit()) {
    room.reset();
    refuse(bytes > answers_.limit() ? AnswerTooLarge(bytes, answers_.limit()) : TooManyAnswers());
    return;
  }
  const Scheduler::Ticket ticket =
      Ask(*request, asked, [this, is_long, asked, room = std::move(room)](auto finish) {
        // Not on the computing thread, from which this may be.
        auto form = [asked, room, finish = std::move(finish)]() mutable {
          if (asked.pending->HasLeft()) {
            return;
          }
          Reply reply = AnswerReply(asked.request_id, finish, asked.pending->answers());
          room.reset();
          asked.replied(std::move(reply));
        };
        if (is_long) {
          asio::post(long_ones_, std::move(form));
        } else {
          asio::post(executor_, std::move(form));
        }
      });
  if (!asked.pending->Queued(ticket)) {
    Cancel({ticket});
  }
}

}  // namespace scorecast::coordinator
