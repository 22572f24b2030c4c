#include "coordinator/transports/socket/request_handler.h"

#include <optional>
#include <utility>

#include <boost/asio/post.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/response_sink.h"
#include "coordinator/request/request_error.h"
#include "coordinator/transports/socket/delta_stream.h"
#include "coordinator/transports/socket/response_frames.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

/// Where the replies to a request go.
struct Client {
  std::uint64_t request_id = 0;
  std::shared_ptr<PendingRequest> pending;
  RequestHandler::Replied replied;
};

/// Forms the response and its reply.
Reply FormReply(const Client& client, const DeferredResponse& deferred) {
  const auto response = deferred.form();
  HeldBytes& replies = client.pending->replies();
  if (!response) {
    return ErrorReply(client.request_id, response.error(), replies);
  }
  v1::Response message;
  message.set_request_id(client.request_id);
  (*response)->ToMessage(message);
  return ToReply(message, replies);
}

/// Forms replies on `executor`, or on `long_executor` if they are long.
class ReplySink : public ResponseSink {
 public:
  /// `stream` is null unless the request streams.
  ReplySink(Client client, asio::any_io_executor executor, asio::any_io_executor long_executor,
            std::shared_ptr<DeltaStream> stream)
      : client_(std::move(client)),
        executor_(std::move(executor)),
        long_executor_(std::move(long_executor)),
        stream_(std::move(stream)) {}

  HeldBytes& held_bytes() override { return client_.pending->replies(); }
  std::optional<proto::Error> StreamFault() const override { return std::nullopt; }

  void OnDelta(std::size_t output, CompletionDelta delta) override {
    stream_->Add(output, std::move(delta));
  }

  void OnDone(DeferredResponse response) override {
    // The computing thread may call this, so the reply is formed elsewhere.
    auto respond = [client = client_, executor = response.is_long ? long_executor_ : executor_,
                    response = std::move(response)]() mutable {
      asio::post(executor, [client = std::move(client), response = std::move(response)]() mutable {
        if (client.pending->HasLeft()) {
          return;
        }
        Reply reply = FormReply(client, response);
        response.room.reset();  // The reply's own bytes are counted now.
        client.replied(std::move(reply));
      });
    };
    if (stream_ == nullptr) {
      respond();
    } else {
      stream_->Finish(std::move(respond));
    }
  }

 private:
  const Client client_;
  const asio::any_io_executor executor_;
  const asio::any_io_executor long_executor_;
  const std::shared_ptr<DeltaStream> stream_;
};

}  // namespace

RequestHandler::RequestHandler(RequestService& service, asio::any_io_executor executor,
                               std::int64_t max_reply_bytes)
    : service_(service), executor_(std::move(executor)), replies_(max_reply_bytes) {}

void RequestHandler::WaitIdle() {
  // Jobs that end may still post long replies to the long thread, and that thread may begin
  // requests from long messages. So the service is waited for before and after it.
  service_.WaitIdle();
  long_thread_.join();
  service_.WaitIdle();
}

void RequestHandler::Handle(std::string message, Held held, std::shared_ptr<PendingRequest> pending,
                            const Begun& begun, const Replied& replied) {
  const Clock::time_point arrived = Clock::now();
  if (message.size() <= static_cast<std::size_t>(kLongBytes)) {
    Begin(message, arrived, pending, replied);
    begun();
    return;
  }
  asio::post(long_thread_, [this, message = std::move(message), held = std::move(held), arrived,
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
                       pending->replies()));
    return;
  }
  const Endpoint* endpoint = service_.FindByMessageField(request.endpoint_case());
  if (endpoint == nullptr) {
    replied(ErrorReply(
        request.request_id(),
        BadRequest("unknown_endpoint", "The request names no endpoint of this server.", ""),
        pending->replies()));
    return;
  }
  ParsedRequest parsed = endpoint->FromMessage(request);
  std::shared_ptr<DeltaStream> stream;
  if (parsed && (*parsed)->streams()) {
    stream =
        std::make_shared<DeltaStream>(*endpoint, request.request_id(), pending, executor_, replied);
  }
  const auto sink =
      std::make_shared<ReplySink>(Client{request.request_id(), pending, replied}, executor_,
                                  long_thread_.get_executor(), std::move(stream));
  const Scheduler::Ticket ticket = service_.Begin(*endpoint, std::move(parsed), arrived, sink);
  if (!pending->Queued(ticket)) {
    Cancel({ticket});
  }
}

}  // namespace scorecast::coordinator
