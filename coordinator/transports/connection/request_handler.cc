#include "coordinator/transports/connection/request_handler.h"

#include <optional>
#include <utility>

#include <boost/asio/post.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/response_sink.h"
#include "coordinator/transports/connection/delta_stream.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

/// The client that gets the replies to a request, and their format.
struct Client {
  std::shared_ptr<ReplyFormat> format;
  std::shared_ptr<PendingRequest> pending;
  RequestHandler::Replied replied;
  ClientCounters& counters;
};

Reply ErrorReply(const Client& client, const proto::Error& error) {
  client.counters.CountRefusal(error.reason);
  return ToReply(client.format->Error(error), client.pending->replies());
}

/// Forms the response and its reply.
Reply FormReply(const Client& client, const DeferredResponse& deferred) {
  const auto response = deferred.form();
  return response ? ToReply(client.format->Response(**response), client.pending->replies())
                  : ErrorReply(client, response.error());
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
  // Jobs that end may still post long replies to the long thread, and that thread may begin long
  // requests. So the service is waited for before and after it.
  service_.WaitIdle();
  long_thread_.join();
  service_.WaitIdle();
}

void RequestHandler::Handle(std::size_t bytes, Clock::time_point arrived, Parse parse,
                            std::shared_ptr<PendingRequest> pending, const Begun& begun,
                            const Replied& replied) {
  if (bytes <= static_cast<std::size_t>(kLongBytes)) {
    Begin(parse, arrived, pending, replied);
    begun();
    return;
  }
  asio::post(long_thread_, [this, parse = std::move(parse), arrived, pending = std::move(pending),
                            begun, replied] {
    if (!pending->HasLeft()) {
      Begin(parse, arrived, pending, replied);
    }
    begun();
  });
}

void RequestHandler::Begin(const Parse& parse, Clock::time_point arrived,
                           const std::shared_ptr<PendingRequest>& pending, const Replied& replied) {
  IncomingRequest request = parse(service_);
  const Client client{request.format, pending, replied, counters_};
  if (request.endpoint == nullptr) {
    replied(ErrorReply(client, request.parsed.error()));
    return;
  }
  std::shared_ptr<DeltaStream> stream;
  if (request.parsed && (*request.parsed)->streams()) {
    stream = std::make_shared<DeltaStream>(request.format, pending, executor_, replied);
  }
  const auto sink = std::make_shared<ReplySink>(client, executor_, long_thread_.get_executor(),
                                                std::move(stream));
  const Scheduler::Ticket ticket =
      service_.Begin(*request.endpoint, std::move(request.parsed), arrived, sink);
  if (!pending->Queued(ticket)) {
    Cancel({ticket});
  }
}

}  // namespace scorecast::coordinator
