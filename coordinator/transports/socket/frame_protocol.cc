#include "coordinator/transports/socket/frame_protocol.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/read.hpp>

#include "coordinator/transports/connection/call_handler.h"
#include "coordinator/transports/socket/frame_format.h"
#include "coordinator/transports/socket/http_request.h"
#include "coordinator/transports/web/body_faults.h"
#include "coordinator/transports/web/immediate_reply.h"
#include "coordinator/transports/web/web_call.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

proto::Error FrameTooLarge(std::size_t length, std::int64_t limit) {
  return {413, "request_too_large",
          "The request is too large: " + std::to_string(length) + " > " + std::to_string(limit) +
              " bytes.",
          ""};
}

/// Why the client may not send the request, if only fronts may. `envelope` is its own.
std::optional<proto::Error> OnlyOfFront(const Connection& connection,
                                        const RequestEnvelope& envelope) {
  if (connection.front() != nullptr || !(envelope.http || envelope.forwarded)) {
    return std::nullopt;
  }
  return proto::Error{403, "not_a_front",
                      envelope.forwarded
                          ? "Only a front may say for whom a request is: show its key in a hello."
                          : "Only a front may pass on HTTP requests here: show its key in a hello.",
                      envelope.forwarded ? "forwarded" : "http"};
}

}  // namespace

Reply FrameProtocol::ErrorReply(const proto::Error& error, HeldBytes& replies) const {
  return ToReply(FrameFormat(/*request_id=*/0).Error(error), replies);
}

bool FrameProtocol::MayGoOn(Connection& connection, const boost::system::error_code& error) {
  if (!error && !connection.is_ending()) {
    return true;
  }
  ReleaseMessage();
  if (error) {
    connection.CloseNow();
  } else {
    connection.ReadNext();
  }
  return false;
}

template <typename Next>
void FrameProtocol::Fill(const ConnectionPtr& connection, asio::mutable_buffer buffer, Next next) {
  if (buffer.size() == 0) {
    next();
    return;
  }
  asio::async_read(connection->stream(), buffer,
                   [this, connection, next = std::move(next)](
                       const boost::system::error_code& error, std::size_t) {
                     if (MayGoOn(*connection, error)) {
                       next();
                     }
                   });
}

void FrameProtocol::ReadRequest(ConnectionPtr connection) {
  connection->stream().async_read_some(
      asio::buffer(header_),
      [this, connection](const boost::system::error_code& error, std::size_t bytes) {
        if (!MayGoOn(*connection, error)) {
          return;
        }
        connection->BeginReading();
        if (bytes == header_.size()) {
          HandleHeader(connection);
        } else {
          Fill(connection, asio::buffer(header_) + bytes,
               [this, connection] { HandleHeader(connection); });
        }
      });
}

std::optional<proto::Error> FrameProtocol::StrangerFault(const Connection& connection) const {
  if (connection.front() != nullptr) {
    return FrontFault(connection, context_);
  }
  const bool is_stranger = context_.keys != nullptr && connection.holder() == nullptr;
  return is_stranger ? context_.keys->KeyFault(/*holder=*/nullptr) : std::nullopt;
}

std::int64_t FrameProtocol::MaxMessageBytes(const Connection& connection) const {
  return context_.max_request_bytes +
         (connection.front() == nullptr ? 0 : static_cast<std::int64_t>(kMaxBesideBody));
}

void FrameProtocol::HandleHeader(const ConnectionPtr& connection) {
  const std::size_t length = proto::FrameLength(header_);
  if (connection->front() == nullptr) {
    HandleBeginning(connection, length);
    return;
  }
  message_.resize(std::min(length, kMaxSessionBytes));
  Fill(connection, asio::buffer(message_),
       [this, connection, length] { HandleBeginning(connection, length); });
}

void FrameProtocol::HandleBeginning(const ConnectionPtr& connection, std::size_t length) {
  const std::int64_t max_bytes = MaxMessageBytes(*connection);
  if (length > static_cast<std::size_t>(max_bytes)) {
    RefuseMessage(connection, FrameTooLarge(length, max_bytes), length);
  } else if (length <= kMaxSessionBytes) {
    ReadMessage(connection, length);  // It may be none that has to wait.
  } else if (const auto fault = StrangerFault(*connection)) {
    // It cannot be the key, and strangers' requests take no memory.
    RefuseMessage(connection, *fault, length);
  } else {
    connection->AwaitBegin([this, connection, length] {
      if (MayGoOn(*connection, {})) {
        ReadMessage(connection, length);
      }
    });
  }
}

void FrameProtocol::ReadMessage(const ConnectionPtr& connection, std::size_t length,
                                std::size_t before) {
  if (before == length) {
    HandleMessage(connection);
    return;
  }
  const std::size_t piece = std::min(length - before, kPieceBytes);
  const bool is_long = length > static_cast<std::size_t>(kLongBytes);
  const auto counted = is_long ? std::max(static_cast<std::int64_t>(before), kLongBytes)
                               : static_cast<std::int64_t>(before);
  connection->HoldRequest(
      counted, static_cast<std::int64_t>(piece),
      [this, connection, length, end = before + piece](Held held) {
        if (!MayGoOn(*connection, {})) {
          return;
        }
        if (held == nullptr) {
          RefuseMessage(connection, Overloaded(), length);
          return;
        }
        held_.push_back(std::move(held));
        // More than before if it is the beginning of a front's message.
        const std::size_t have = message_.size();
        message_.resize(end);
        Fill(connection, asio::buffer(message_) + have,
             [this, connection, length, end] { ReadMessage(connection, length, end); });
      });
}

void FrameProtocol::RefuseMessage(const ConnectionPtr& connection, const proto::Error& error,
                                  std::size_t length) {
  const std::size_t rest = length - message_.size();
  const std::uint64_t id = connection->front() == nullptr ? 0 : RequestIdIn(message_);
  ReleaseMessage();
  connection->CountRefusal(error);
  connection->Send(ToReply(FrameFormat(id).Error(error), *connection->replies()));
  SkipMessage(connection, rest);
}

void FrameProtocol::SkipMessage(const ConnectionPtr& connection, std::size_t length) {
  if (length == 0) {
    ReleaseMessage();
    connection->ReadNext();
    return;
  }
  const std::size_t piece = std::min(length, kPieceBytes);
  message_.resize(piece);
  Fill(connection, asio::buffer(message_),
       [this, connection, rest = length - piece] { SkipMessage(connection, rest); });
}

void FrameProtocol::HandleMessage(const ConnectionPtr& connection) {
  if (auto reply =
          AnswerSession(message_, *connection, context_, server_->facts, server_->front.drain)) {
    if (reply->status_interval) {
      reply->frames += StatusFrame();
      status_interval_ = *reply->status_interval;
      status_timer_.emplace(connection->stream().get_executor());
      ArmStatus(connection);
    }
    connection->Send(ToReply(std::move(reply->frames), *connection->replies()));
    ReleaseMessage();
    connection->ReadNext();
    return;
  }
  connection->AwaitBegin([this, connection] {
    if (MayGoOn(*connection, {})) {
      BeginRequest(connection);
    }
  });
}

void FrameProtocol::BeginRequest(const ConnectionPtr& connection) {
  const RequestEnvelope envelope = EnvelopeOf(message_);
  std::optional<proto::Error> fault = FrontFault(*connection, context_);
  const auto state = status_timer_ && !fault ? server_->state : nullptr;
  if (!fault) {
    fault = OnlyOfFront(*connection, envelope);
  }
  std::optional<ForwardedFor> forwarded;
  if (!fault && envelope.forwarded) {
    if (auto read = ReadForwarded(*envelope.forwarded)) {
      forwarded = *std::move(read);
    } else {
      fault = std::move(read).error();
    }
  }
  if (!fault && envelope.http) {
    if (auto passed = ReadHttpRequest(envelope.http->rest)) {
      ReplyTerms terms = TermsOf(server_->web, passed->request);
      terms.request_id = std::move(passed->request_id);
      terms.continues = forwarded && !forwarded->sent.empty();
      BeginHttpRequest(connection, *envelope.http,
                       {.request = std::move(passed->request),
                        .terms = std::move(terms),
                        .frame_terms = {envelope.request_id, state},
                        .forwarded = std::move(forwarded),
                        .judgement = {}});
      return;
    }
    fault = NotAMessage();
  }
  std::unique_ptr<CallFormat> format;
  if (server_->front.pass_on != nullptr) {
    format = server_->front.pass_on(std::move(message_), envelope.request_id, std::move(held_));
  } else {
    format = std::make_unique<FrameFormat>(std::move(message_), envelope, std::move(held_), state);
  }
  ReleaseMessage();
  const auto call = connection->BeginRequest(std::move(format));
  if (forwarded) {
    Forward(*forwarded, *connection, *call);
  }
  context_.handler.Handle(call, fault);
  connection->ReadNext();
}

void FrameProtocol::BeginHttpRequest(const ConnectionPtr& connection, const HttpEnvelope& envelope,
                                     HttpExchange exchange) {
  Judgement& judgement = exchange.judgement;
  const WebRequest& request = exchange.request;
  judgement.route = server_->web.routes.Find(request.path, request.path_prefix);
  const Endpoint* const endpoint = EndpointOf(request, judgement.route);
  exchange.terms.endpoint = endpoint;
  Judge(server_->web, request, context_.handler.is_draining(), judgement);
  if (envelope.body_size > static_cast<std::size_t>(context_.max_request_bytes)) {
    judgement.fault = BodyTooLarge(context_.max_request_bytes);
  }
  HttpBody body{.bytes = {.text = std::move(message_), .held = std::move(held_)},
                .begin = envelope.body_begin,
                .size = envelope.body_size};
  ReleaseMessage();
  if (judgement.fault || endpoint == nullptr) {
    ReplyToHttp(connection, exchange);
    return;
  }
  ReadClaim(body, request.content_encoding, context_.max_request_bytes);
  PassOn(connection, exchange, std::move(body));
}

void FrameProtocol::PassOn(const ConnectionPtr& connection, HttpExchange& exchange, HttpBody body) {
  const std::int64_t claimed = body.claimed_bytes;
  // The body holds the room from now on, and gets it later.
  const auto room = std::make_shared<Held>();
  body.room = room;
  const auto address = connection->BytesOf(
      exchange.forwarded ? ClientName(exchange.forwarded->client) : connection->client().address);
  Route& route = exchange.judgement.route;
  WebCall web_call{.request = exchange.request,
                   .endpoint = route.endpoint,
                   .url_model = std::move(route.id),
                   .body = std::move(body),
                   .address = address,
                   .writer = std::make_unique<FrameReplyWriter>(std::move(exchange.terms),
                                                                std::move(exchange.frame_terms))};
  const auto call = connection->BeginRequest(NewFormat(server_->web, std::move(web_call)));
  call->SetEndpoint(*route.endpoint);
  if (exchange.forwarded) {
    Forward(*exchange.forwarded, *connection, *call);
  }
  if (claimed == 0) {
    context_.handler.Handle(call, /*fault=*/std::nullopt);
  } else {
    connection->HoldFor(call, address, claimed, [this, call, room](Held held) {
      if (call->has_left()) {
        return;
      }
      *room = std::move(held);
      context_.handler.Handle(call, *room == nullptr ? std::optional(Overloaded()) : std::nullopt);
    });
  }
  connection->ReadNext();
}

void FrameProtocol::ReplyToHttp(const ConnectionPtr& connection, const HttpExchange& exchange) {
  const auto call = connection->BeginRequest(/*format=*/nullptr);
  if (exchange.forwarded) {
    Forward(*exchange.forwarded, *connection, *call);
  }
  FrameReplyWriter writer(exchange.terms, exchange.frame_terms);
  const Requester requester{context_.handler, call->client(), call->holder(),
                            /*is_of_front=*/true};
  ImmediateReply reply =
      ReplyAtOnce(server_->web, exchange.request, exchange.judgement, requester, writer);
  call->Send(ToReply(std::move(reply.bytes), call->replies(), std::move(reply.rest)));
  call->Begun();
  connection->ReadNext();
}

void FrameProtocol::ReleaseMessage() {
  // Swapped and not cleared, so that an idle connection does not keep the memory.
  std::string().swap(message_);
  held_.clear();
}

std::string FrameProtocol::StatusFrame() const {
  v1::Response response;
  ToMessage(server_->state->Get(), *response.mutable_status());
  return proto::ToFrame(response);
}

void FrameProtocol::SendStatus(const ConnectionPtr& connection) {
  if (FrontFault(*connection, context_)) {
    status_timer_.reset();
    return;
  }
  // One that does not read what it is sent would get old ones later.
  if (!connection->is_writing()) {
    connection->Send(ToReply(StatusFrame(), *connection->replies()));
  }
  ArmStatus(connection);
}

void FrameProtocol::ArmStatus(const ConnectionPtr& connection) {
  status_timer_->expires_after(status_interval_);
  // Weak, because the timer is the connection's.
  status_timer_->async_wait(
      [this, weak = std::weak_ptr(connection)](const boost::system::error_code& error) {
        const auto own = weak.lock();
        if (own != nullptr && !error && status_timer_ && !own->is_ending()) {
          SendStatus(own);
        }
      });
}

MakeProtocol MakeFrameProtocol(EndpointList endpoints, ServerFacts facts,
                               std::function<ServerState()> state, WebOptions web,
                               FrontFrames front) {
  const auto server = std::make_shared<const FrameServer>(
      endpoints, std::move(facts), std::move(state), std::move(web), std::move(front));
  return [server](const ProtocolContext& context) {
    return std::make_unique<FrameProtocol>(context, server);
  };
}

}  // namespace scorecast::coordinator
