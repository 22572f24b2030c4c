#include "coordinator/transports/connection/request_handler.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/request/request_error.h"
#include "coordinator/service/response_sink.h"
#include "coordinator/transports/connection/delta_stream.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

/// The client that gets the replies to a request, and their format.
struct Client {
  std::string request_id;
  std::shared_ptr<ReplyFormat> format;
  std::shared_ptr<PendingRequest> pending;
  RequestHandler::Replied replied;
  ClientCounters& counters;
};

/// The last reply, whose bytes `client.format` has just formed.
Reply LastReply(const Client& client, std::string bytes) {
  Reply reply = ToReply(std::move(bytes), client.pending->replies());
  reply.ends_connection = client.format->ends_connection();
  return reply;
}

Reply ErrorReply(const Client& client, const proto::Error& error) {
  client.counters.CountRefusal(error.reason);
  return LastReply(client, client.format->Error(error));
}

/// The bytes of the response, or of an error if there is no memory for them.
Reply ResponseReply(const Client& client, const EndpointResponse& response) {
  try {
    return LastReply(client, client.format->Response(response));
  } catch (const std::exception& exception) {
    return ErrorReply(client, FaultOf(exception));
  }
}

proto::Error TooManyLongRequests(std::int64_t again) {
  return {503, "overloaded", "The server has too many long requests to parse.", "", again};
}

/// Forms the response and its reply, unless the client has left.
void SendReply(const Client& client, DeferredResponse& deferred) {
  if (client.pending->HasLeft()) {
    return;
  }
  const auto response = deferred.form();
  Reply reply = response ? ResponseReply(client, **response) : ErrorReply(client, response.error());
  deferred.room.reset();  // The reply's own bytes are counted now.
  client.replied(std::move(reply));
}

}  // namespace

/// Forms replies on the executor, or on `replying_` if they are long.
class RequestHandler::ReplySink : public ResponseSink {
 public:
  /// `stream` is null unless the request streams.
  ReplySink(RequestHandler& handler, Client client, std::shared_ptr<DeltaStream> stream)
      : handler_(handler), client_(std::move(client)), stream_(std::move(stream)) {
    const std::lock_guard lock(handler_.mutex_);
    ++handler_.sinks_;
  }

  ~ReplySink() override {
    const std::lock_guard lock(handler_.mutex_);
    --handler_.sinks_;
    handler_.sink_gone_.notify_all();
  }

  HeldBytes& held_bytes() override { return client_.pending->replies(); }
  ClientId client() const override { return client_.pending->client(); }
  std::string request_id() const override { return client_.request_id; }
  std::int64_t bytes_per_message_byte() const override {
    return client_.format->bytes_per_message_byte();
  }
  std::optional<proto::Error> StreamFault() const override { return std::nullopt; }

  void OnDelta(std::size_t output, CompletionDelta delta) override {
    stream_->Add(output, std::move(delta));
  }

  void OnDone(DeferredResponse response) override {
    // The computing thread may call this, so the reply is formed elsewhere.
    auto respond = [&handler = handler_, client = client_,
                    response = std::make_shared<DeferredResponse>(std::move(response))] {
      auto form = [client, response] { SendReply(client, *response); };
      if (response->is_long) {
        handler.replying_.Post(client.pending->client(), std::move(form));
      } else {
        asio::post(handler.executor_, std::move(form));
      }
    };
    if (stream_ == nullptr) {
      respond();
    } else {
      stream_->Finish(std::move(respond));
    }
  }

 private:
  RequestHandler& handler_;
  const Client client_;
  const std::shared_ptr<DeltaStream> stream_;
};

RequestHandler::RequestHandler(RequestService& service, asio::any_io_executor executor,
                               HeldBytes& requests, std::int64_t max_reply_bytes,
                               Clock::duration patience, int threads)
    : service_(service),
      executor_(std::move(executor)),
      requests_(requests),
      replies_(max_reply_bytes),
      parsing_(patience),
      preparing_(threads),
      replying_(threads) {}

void RequestHandler::Finish() {
  parsing_.Join();
  preparing_.Join();
  {
    std::unique_lock lock(mutex_);
    sink_gone_.wait(lock, [this] { return sinks_ == 0; });
  }
  replying_.Join();
}

void RequestHandler::CountRefusal(const Endpoint* endpoint, const ClientId& client,
                                  const proto::Error& error) {
  counters_.CountRefusal(error.reason);
  service_.NoteRefusal(endpoint, client.address, error);
}

void RequestHandler::Handle(std::size_t bytes, Parse parse, std::shared_ptr<PendingRequest> pending,
                            Begun begun, Replied replied) {
  if (bytes <= static_cast<std::size_t>(kLongBytes)) {
    Read(bytes, parse, /*refusal=*/std::nullopt, pending, begun, replied);
    return;
  }
  const ClientId client = pending->client();
  parsing_.Post(client, [this, bytes, parse = std::move(parse), pending = std::move(pending),
                         begun = std::move(begun),
                         replied = std::move(replied)](PatientPool::TooLate too_late) {
    std::optional<proto::Error> refusal;
    if (too_late) {
      refusal = TooManyLongRequests(*too_late);
    }
    Read(bytes, parse, refusal, pending, begun, replied);
  });
}

void RequestHandler::Read(std::size_t bytes, const Parse& parse,
                          const std::optional<proto::Error>& refusal,
                          const std::shared_ptr<PendingRequest>& pending, const Begun& begun,
                          const Replied& replied) {
  if (pending->HasLeft()) {
    begun();
    return;
  }
  IncomingRequest incoming = parse(service_, refusal);
  bytes = std::max(bytes, incoming.inflated_bytes);
  const Client client{incoming.request_id, incoming.format, pending, replied, counters_};
  if (incoming.endpoint == nullptr) {
    service_.NoteRefusal(nullptr, pending->client().address, incoming.parsed.error());
    replied(ErrorReply(client, incoming.parsed.error()));
    begun();
    return;
  }
  std::shared_ptr<DeltaStream> stream;
  if (incoming.parsed && (*incoming.parsed)->streams()) {
    stream = std::make_shared<DeltaStream>(incoming.format, pending, executor_, replied);
  }
  const RequestService::Request request = service_.Admit(
      *incoming.endpoint, std::move(incoming.parsed), pending->arrived(),
      std::make_shared<ReplySink>(*this, client, std::move(stream)), std::move(incoming.bytes));
  if (!pending->Admitted(request)) {
    service_.Cancel({request});
  }
  if (bytes <= kShortBytes || request->is_over()) {
    Prepare(bytes, request, begun);
    return;
  }
  preparing_.Post(pending->client(),
                  [this, bytes, request, begun] { Prepare(bytes, request, begun); });
}

void RequestHandler::Prepare(std::size_t bytes, const RequestService::Request& request,
                             const Begun& begun) {
  const Held tokens = requests_.Hold(kTokenBytes * static_cast<std::int64_t>(bytes));
  service_.Prepare(request);
  begun();
}

}  // namespace scorecast::coordinator
