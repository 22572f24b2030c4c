#include "coordinator/transports/http/http_protocol.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "coordinator/request/request_error.h"
#include "coordinator/transports/connection/call_handler.h"
#include "coordinator/transports/connection/client_address.h"
#include "coordinator/transports/http/access.h"
#include "coordinator/transports/http/cors.h"
#include "coordinator/transports/http/load_report.h"
#include "coordinator/transports/web/body_faults.h"
#include "coordinator/transports/web/field_value.h"
#include "coordinator/transports/web/request_id.h"
#include "coordinator/transports/web/web_call.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

HttpProtocol::Message::Message() = default;

Reply HttpProtocol::ErrorReply(const proto::Error& error, HeldBytes& replies) const {
  HttpReplyTerms terms;
  terms.reply.request_id = RequestId({});
  if (message_) {
    terms = message_->terms;
    terms.keep_alive = false;
  }
  LogWebRefusal(terms.reply.request_id, /*holder=*/"", error);
  return ToReply(HttpReplyWriter(std::move(terms), context_.handler).Error(error), replies);
}

bool HttpProtocol::MayGoOn(Connection& connection, const boost::system::error_code& error) {
  if (!error && !connection.is_ending()) {
    return true;
  }
  message_.reset();
  std::string().swap(unparsed_);
  if (error == asio::error::eof) {
    connection.EndInput();
  } else if (error) {
    connection.CloseNow();
  } else {
    connection.ReadNext();
  }
  return false;
}

void HttpProtocol::ReadRequest(ConnectionPtr connection) {
  if (!unparsed_.empty()) {
    // Not at once, because a client may send any number of requests together.
    asio::post(connection->stream().get_executor(), [this, connection] {
      if (MayGoOn(*connection, {})) {
        Begin(connection);
      }
    });
    return;
  }
  std::string().swap(unparsed_);
  connection->stream().async_read_some(
      asio::buffer(first_),
      [this, connection](const boost::system::error_code& error, std::size_t bytes) {
        if (MayGoOn(*connection, error)) {
          unparsed_.assign(first_.data(), bytes);
          Begin(connection);
        }
      });
}

template <typename Next>
void HttpProtocol::ReadMore(const ConnectionPtr& connection, std::size_t bytes, Next next) {
  const std::size_t have = unparsed_.size();
  if (have + bytes > message_->unparsed_limit) {
    connection->HoldRequest(Before(message_->body_bytes), static_cast<std::int64_t>(have + bytes),
                            [this, connection, have, bytes, next = std::move(next)](Held held) {
                              if (!MayGoOn(*connection, {})) {
                                return;
                              }
                              if (held == nullptr) {
                                RefuseNow(connection, Overloaded());
                                return;
                              }
                              message_->unparsed = std::move(held);
                              message_->unparsed_limit = have + bytes;
                              ReadMore(connection, bytes, next);
                            });
    return;
  }
  unparsed_.resize(have + bytes);
  connection->stream().async_read_some(
      asio::buffer(unparsed_.data() + have, bytes),
      [this, connection, have, next = std::move(next)](const boost::system::error_code& error,
                                                       std::size_t read) {
        unparsed_.resize(have + read);
        if (MayGoOn(*connection, error)) {
          next();
        }
      });
}

void HttpProtocol::Begin(const ConnectionPtr& connection) {
  // Some clients send an empty line after a body.
  unparsed_.erase(0, unparsed_.find_first_not_of("\r\n"));
  if (unparsed_.empty()) {
    connection->ReadNext();
    return;
  }
  message_.emplace();
  // The last request's key says nothing of this one.
  connection->ForgetClient();
  connection->BeginReading(server_->options.header_timeout);
  ReadHeader(connection);
}

void HttpProtocol::ReadHeader(const ConnectionPtr& connection) {
  HeadParser& header = message_->header;
  unparsed_.erase(0, header.Take(unparsed_));
  RequestHead& head = header.head();
  HttpReplyTerms& terms = message_->terms;
  terms.is_http_1_0 = head.is_http_1_0;
  terms.keep_alive = head.keep_alive;
  terms.cors = CorsFields(server_->options.cors_origins, head.origin);
  terms.reply = TermsOf(server_->web, head);
  terms.reply.request_id = head.request_id;
  if (header.fault()) {
    RefuseNow(connection, *header.fault());
  } else if (header.is_done()) {
    connection->HeaderRead();
    HandleHeader(connection);
  } else {
    ReadMore(connection, kReadBytes, [this, connection] { ReadHeader(connection); });
  }
}

bool HttpProtocol::NeedsKey() const {
  const RequestHead& head = message_->header.head();
  const Route& route = message_->judgement.route;
  if (context_.keys == nullptr) {
    return false;
  }
  if (head.method == "OPTIONS") {
    // Browsers ask so whether they may send a key. The 404 of another path lists what there is.
    return !route.exists() && head.path != "*";
  }
  return route.resource == nullptr || !route.resource->is_open || !IsGet(head);
}

std::optional<proto::Error> HttpProtocol::Identify(Connection& connection) {
  const RequestHead& head = message_->header.head();
  ClientId client = connection.peer();
  std::optional<proto::Error> fault;
  Holder holder;
  if (NeedsKey()) {
    auto found = context_.keys->Find(head.api_keys);
    if (found) {
      holder = *std::move(found);
      client = holder->Client(client.connection);
    } else {
      fault = std::move(found).error();
    }
  }
  if (holder == nullptr && connection.proxy()) {
    const auto address =
        CountedAddress(context_.proxies.ClientOf(*connection.proxy(), head.forwarded_for));
    client = {address.to_string(), client.connection, NetworkOf(address)};
  }
  connection.SetClient(std::move(client), std::move(holder));
  return fault;
}

void HttpProtocol::JudgeHeader(Connection& connection) {
  Message& message = *message_;
  const RequestHead& head = message.header.head();
  Judgement& judgement = message.judgement;
  judgement.route = server_->web.routes.Find(head.path, head.path_prefix);
  // A fault of the URL or the method is no endpoint's.
  message.terms.reply.endpoint = EndpointOf(head, judgement.route);
  judgement.fault = Identify(connection);
  if (auto fault = AccessFault(server_->options, head)) {
    judgement.fault = std::move(fault);
  }
  if (!judgement.fault) {
    Judge(server_->web, head, context_.handler.is_draining(), judgement);
  }
  // Like /metrics, the load is only for those who are let in.
  if (!judgement.fault && IsForHandler(server_->web, head, judgement.route)) {
    message.terms.load_report = LoadReport(head.load_format, server_->options.load);
  }
}

void HttpProtocol::HandleHeader(const ConnectionPtr& connection) {
  JudgeHeader(*connection);
  const RequestHead& head = message_->header.head();
  if (head.framing.left() > static_cast<std::uint64_t>(context_.max_request_bytes)) {
    const std::optional<proto::Error>& fault = message_->judgement.fault;
    const bool lacks_key = fault && fault->code == 401;
    RefuseNow(connection, lacks_key ? *fault : BodyTooLarge(context_.max_request_bytes));
    return;
  }
  if (head.expects_continue && head.framing.state() == BodyFraming::State::kMore) {
    if (message_->judgement.fault) {
      RefuseNow(connection, *message_->judgement.fault);
      return;
    }
    if (unparsed_.empty()) {
      connection->Send({.bytes = std::string(kContinue), .held = nullptr});
    }
  }
  ReadBody(connection);
}

bool HttpProtocol::KeepsBody() const {
  const Judgement& judgement = message_->judgement;
  return !judgement.fault && IsForHandler(server_->web, message_->header.head(), judgement.route);
}

bool HttpProtocol::Keep(std::string_view bytes) {
  Message& message = *message_;
  message.body_bytes += static_cast<std::int64_t>(bytes.size());
  if (message.body_bytes > context_.max_request_bytes) {
    return false;
  }
  if (KeepsBody()) {
    message.body.text += bytes;
  }
  return true;
}

std::int64_t HttpProtocol::Before(std::int64_t bytes) const {
  if (!message_->header.is_done()) {
    return bytes;
  }
  const std::uint64_t left = message_->header.head().framing.left();
  const bool is_long = message_->body_bytes > kLongBytes ||
                       left > static_cast<std::uint64_t>(kLongBytes - message_->body_bytes);
  return is_long ? std::max(bytes, kLongBytes) : bytes;
}

void HttpProtocol::HoldBody(const ConnectionPtr& connection) {
  const std::size_t piece = PieceAfter(message_->body_limit);
  connection->HoldRequest(Before(static_cast<std::int64_t>(message_->body_limit)),
                          static_cast<std::int64_t>(piece), [this, connection, piece](Held held) {
                            if (!MayGoOn(*connection, {})) {
                              return;
                            }
                            if (held == nullptr) {
                              message_->judgement.fault = Overloaded();
                              message_->body = {};
                            } else {
                              message_->body_limit += piece;
                              message_->body.held.push_back(std::move(held));
                            }
                            ReadBody(connection);
                          });
}

void HttpProtocol::ReadBody(const ConnectionPtr& connection) {
  BodyFraming& framing = message_->header.head().framing;
  std::string_view rest = unparsed_;
  for (;;) {
    const std::uint64_t coming = std::min<std::uint64_t>(framing.left(), rest.size());
    if (KeepsBody() && message_->body.text.size() + coming > message_->body_limit) {
      unparsed_.erase(0, unparsed_.size() - rest.size());
      HoldBody(connection);
      return;
    }
    const BodyFraming::Piece piece = framing.Take(rest);
    if (piece.consumed == 0) {
      break;
    }
    if (!Keep(piece.body)) {
      RefuseNow(connection, BodyTooLarge(context_.max_request_bytes));
      return;
    }
    rest.remove_prefix(piece.consumed);
  }
  unparsed_.erase(0, unparsed_.size() - rest.size());
  switch (framing.state()) {
    case BodyFraming::State::kEnd:
      // What remains is the beginning of the next request, and waits uncounted for this one's
      // reply.
      if (unparsed_.capacity() > 2 * kReadBytes) {
        unparsed_.shrink_to_fit();
      }
      Handle(connection);
      return;
    case BodyFraming::State::kBad:
      RefuseNow(connection,
                BadRequest("bad_http",
                           "The chunks of the body, or the fields behind them, are not HTTP.", ""));
      return;
    case BodyFraming::State::kMore:
      const auto arrived = static_cast<std::uint64_t>(message_->body_bytes);
      const auto limit = static_cast<std::uint64_t>(context_.max_request_bytes);
      if (framing.left() > limit - std::min(arrived, limit)) {
        RefuseNow(connection, BodyTooLarge(context_.max_request_bytes));
        return;
      }
      const std::size_t bytes =
          std::clamp<std::uint64_t>(framing.left(), kReadBytes, PieceAfter(arrived));
      ReadMore(connection, bytes, [this, connection] { ReadBody(connection); });
      return;
  }
}

void HttpProtocol::Handle(const ConnectionPtr& connection) {
  const RequestHead& head = message_->header.head();
  if (KeepsBody()) {
    // A body that is passed on stays compressed.
    const bool is_unpacked = server_->web.options.pass_on == nullptr;
    MakeRoom(*connection, {.bytes = std::move(message_->body)},
             is_unpacked ? head.content_encoding : std::string(), context_.max_request_bytes,
             [this, connection](std::optional<HttpBody> body) {
               if (!MayGoOn(*connection, {})) {
                 return;
               }
               if (body) {
                 PassOn(connection, *std::move(body));
               } else {
                 Refuse(connection, Overloaded());
               }
             });
    return;
  }
  HttpReplyWriter writer = NewWriter();
  ImmediateReply reply = ReplyAtOnce(server_->web, head, message_->judgement,
                                     RequesterOf(*connection), writer, PreflightReplyFields());
  Send(connection, writer, std::move(reply));
}

void HttpProtocol::PassOn(const ConnectionPtr& connection, HttpBody body) {
  Route& route = message_->judgement.route;
  const RequestHead& head = message_->header.head();
  const Endpoint* const endpoint = EndpointOf(head, route);
  WebCall web_call{
      .request = head,
      .endpoint = endpoint,
      .url_model = std::move(route.id),
      .body = std::move(body),
      .address = connection->address_bytes(),
      .writer = std::make_unique<HttpReplyWriter>(std::move(message_->terms), context_.handler)};
  const auto call = connection->BeginRequest(NewFormat(server_->web, std::move(web_call)));
  if (endpoint != nullptr) {
    call->SetEndpoint(*endpoint);
  }
  message_.reset();
  context_.handler.Handle(call, /*fault=*/std::nullopt);
  connection->ReadNext();
}

Requester HttpProtocol::RequesterOf(const Connection& connection) const {
  return {context_.handler, connection.client(), connection.holder()};
}

ReplyFields HttpProtocol::PreflightReplyFields() const {
  const RequestHead& head = message_->header.head();
  if (head.preflight_method.empty() || !AllowsOrigin(server_->options.cors_origins, head.origin)) {
    return {};
  }
  return PreflightFields(AllowedMethods(head, message_->judgement.route), head.preflight_fields);
}

void HttpProtocol::Refuse(const ConnectionPtr& connection, const proto::Error& error) {
  HttpReplyWriter writer = NewWriter();
  ImmediateReply reply = RefusalReply(message_->judgement, RequesterOf(*connection), writer, error);
  Send(connection, writer, std::move(reply));
}

void HttpProtocol::RefuseNow(const ConnectionPtr& connection, const proto::Error& error) {
  message_->terms.keep_alive = false;
  std::string().swap(unparsed_);
  Refuse(connection, error);
}

void HttpProtocol::Send(const ConnectionPtr& connection, const ReplyWriter& writer,
                        ImmediateReply formed) {
  const auto call = connection->BeginRequest(/*format=*/nullptr);
  Reply reply = ToReply(std::move(formed.bytes), call->replies(), std::move(formed.rest));
  reply.ends_connection = writer.ends_connection();
  message_.reset();
  call->Send(std::move(reply));
  call->Begun();
  connection->ReadNext();
}

MakeProtocol MakeHttpProtocol(EndpointList endpoints, HttpOptions options) {
  const auto server = std::make_shared<const HttpServer>(endpoints, std::move(options));
  return [server](const ProtocolContext& context) {
    return std::make_unique<HttpProtocol>(context, server);
  };
}

}  // namespace scorecast::coordinator
