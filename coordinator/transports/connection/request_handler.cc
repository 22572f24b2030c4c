#include "coordinator/transports/connection/request_handler.h"

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/request/request_error.h"
#include "coordinator/transports/connection/endpoint_format.h"

namespace scorecast::coordinator {
namespace {

proto::Error TooManyLongRequests(std::int64_t again) {
  return {503, "overloaded", "The server has too many long requests to parse.", "", again};
}

EndpointFormat& FormatOf(ConnectionCall& call) {
  return dynamic_cast<EndpointFormat&>(call.format());
}

/// The bytes of the response; or the error, if there is no response or no memory for its bytes.
proto::Expected<std::string> ResponseBytes(ConnectionCall& call) {
  const auto response = call.Respond();
  if (!response) {
    return proto::Unexpected(response.error());
  }
  try {
    return FormatOf(call).Response(**response);
  } catch (const std::exception& exception) {
    return proto::Unexpected(FaultOf(exception));
  }
}

}  // namespace

RequestHandler::RequestHandler(RequestService& service, const SocketOptions& options, int threads)
    : CallHandler(options),
      service_(service),
      parsing_(options.long_patience),
      parsing_large_(options.long_patience),
      backlog_(options.max_wait_seconds, threads),
      preparing_({.under_way = threads}),
      replying_(threads) {}

void RequestHandler::End() {
  parsing_.Join();  // First, because it posts to the other.
  parsing_large_.Join();
  preparing_.Join();
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return calls_ == 0; });
  }
  replying_.Join();
}

void RequestHandler::Handle(std::shared_ptr<ConnectionCall> call,
                            std::optional<proto::Error> fault) {
  if (!fault) {
    fault = AccessFault(*call, service_.model_name());
  }
  if (fault) {
    Read(call, fault);
    return;
  }
  if (call->format().request_bytes() <= static_cast<std::size_t>(kLongBytes)) {
    Read(call, /*refusal=*/std::nullopt);
    return;
  }
  const bool is_large = call->format().request_bytes() > kLargeBytes;
  PostParsing(is_large ? parsing_large_ : parsing_, std::move(call));
}

void RequestHandler::PostParsing(PatientPool& pool, std::shared_ptr<ConnectionCall> call) {
  const ClientId client = call->client();
  pool.Post(client, [this, &pool, call = std::move(call)](PatientPool::TooLate too_late) {
    if (too_late) {
      Read(call, TooManyLongRequests(*too_late));
    } else if (&pool == &parsing_ && !call->has_left() && !FormatOf(*call).Unpack(kLargeBytes)) {
      PostParsing(parsing_large_, call);
    } else {
      Read(call, /*refusal=*/std::nullopt);
    }
  });
}

void RequestHandler::Read(const std::shared_ptr<ConnectionCall>& call,
                          const std::optional<proto::Error>& refusal) {
  if (call->has_left()) {
    call->Begun();
    return;
  }
  if (refusal) {
    call->format().Skip();
  }
  ParsedRequest parsed =
      refusal ? ParsedRequest(proto::Unexpected(*refusal)) : FormatOf(*call).Parse(service_, *call);
  const std::size_t bytes = call->format().request_bytes();
  Held counted;
  if (parsed && bytes > kShortBytes) {
    auto added = backlog_.Add(call->client(), static_cast<std::int64_t>(bytes), Clock::now());
    if (added) {
      counted = *std::move(added);
    } else {
      parsed = proto::Unexpected(std::move(added).error());
    }
  }
  call->SetResponder(*this);
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
  }
  service_.Admit(call, std::move(parsed));
  if (bytes <= kShortBytes || call->is_over()) {
    Prepare(call, /*give_way=*/{});
    return;
  }
  preparing_.Post(call->client(),
                  [this, call, bytes, counted = std::move(counted)](TurnPool::Turn& turn) {
                    if (Prepare(call, [&turn] { turn.GiveWay(); })) {
                      backlog_.NoteDone(static_cast<std::int64_t>(bytes), turn.Seconds());
                    }
                  });
}

bool RequestHandler::Prepare(const std::shared_ptr<ConnectionCall>& call,
                             const std::function<void()>& give_way) {
  const Held tokens = call->requests().Hold(
      kTokenBytes * static_cast<std::int64_t>(call->format().request_bytes()));
  const bool is_prepared = service_.Prepare(call, give_way);
  call->Begun();
  return is_prepared;
}

std::string RequestHandler::FormDelta(ConnectionCall& call, const EndpointResponse& delta) {
  return FormatOf(call).Delta(delta);
}

void RequestHandler::Respond(std::shared_ptr<ConnectionCall> call) {
  // The computing thread may call this, so the reply is formed elsewhere.
  ConnectionCall& own = *call;
  auto form = [this, call = std::move(call)] { Form(*call); };
  if (own.has_long_reply()) {
    replying_.Post(own.client(), std::move(form));
  } else {
    own.Post(std::move(form));
  }
}

void RequestHandler::Form(ConnectionCall& call) {
  if (call.has_left()) {
    return;
  }
  proto::Expected<std::string> bytes = ResponseBytes(call);
  if (!bytes) {
    counters().CountRefusal(bytes.error().reason);
    bytes = call.format().Error(bytes.error());
  }
  Reply reply = ToReply(*std::move(bytes), call.replies());
  reply.ends_connection = call.format().ends_connection();
  call.ReleaseRoom();  // The reply has its final size, and its own bytes are counted now.
  call.Send(std::move(reply));
}

void RequestHandler::Ended() {
  const std::lock_guard lock(mutex_);
  --calls_;
  ended_.notify_all();
}

}  // namespace scorecast::coordinator
