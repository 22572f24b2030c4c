#include "coordinator/transports/http/http_protocol.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "coordinator/request/request_error.h"
#include "coordinator/request/request_log.h"
#include "coordinator/schedule/queue/scheduler.h"
#include "coordinator/transports/connection/client_address.h"
#include "coordinator/transports/connection/request_handler.h"
#include "coordinator/transports/http/access.h"
#include "coordinator/transports/http/body_faults.h"
#include "coordinator/transports/http/cors.h"
#include "coordinator/transports/http/field_value.h"
#include "coordinator/transports/http/http_format.h"
#include "coordinator/transports/http/request_id.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

/// Bodies of resources of up to this size are copied behind the header, because writing them by
/// themselves takes longer.
constexpr std::size_t kCopiedBytes = std::size_t{4} << 10;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
/// The name of this transport in the log, for requests that reach no endpoint.
constexpr std::string_view kName = "http";

bool IsGet(const RequestHead& head) { return head.method == "GET" || head.method == "HEAD"; }

proto::Error WrongMethod(const RequestHead& head, const std::string& allowed) {
  return {405, "wrong_method",
          Quoted(head.path) + " does not have the method " + Quoted(head.method) +
              ". It has: " + allowed + ".",
          "method"};
}

/// `content_encoding` is a known one (ContentEncodingFault).
ContentCoding CodingOf(std::string_view content_encoding) {
  return EqualsWithoutCase(content_encoding, "zstd") ? ContentCoding::kZstd : ContentCoding::kZlib;
}

}  // namespace

HttpProtocol::Message::Message() = default;

Reply HttpProtocol::ErrorReply(const proto::Error& error, HeldBytes& replies) const {
  ReplyTerms terms;
  terms.request_id = RequestId({});
  if (message_) {
    terms = message_->terms;
    terms.keep_alive = false;
  }
  LogRefusal(kName, terms.request_id, /*holder=*/"", error);
  return ToReply(ReplyWriter(std::move(terms), server_->service).Error(error), replies);
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
  ReplyTerms& terms = message_->terms;
  terms.is_http_1_0 = head.is_http_1_0;
  terms.keep_alive = head.keep_alive;
  terms.is_head = head.method == "HEAD";
  terms.cors = CorsFields(server_->options.cors_origins, head.origin);
  terms.coding = ReplyCodingOf(head.accept_encoding);
  terms.compress_from = server_->options.compress_from;
  if (!head.request_id.empty()) {
    terms.request_id = std::move(head.request_id);
    head.request_id.clear();
  }
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
  const Route& route = message_->route;
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

void HttpProtocol::Judge(Connection& connection) {
  Message& message = *message_;
  const RequestHead& head = message.header.head();
  message.route = server_->routes.Find(head.path, head.path_prefix);
  const Route& route = message.route;
  // A fault of the URL or the method is no endpoint's.
  message.terms.endpoint = head.method == "POST" ? route.endpoint : nullptr;
  const bool is_options = head.method == "OPTIONS";
  message.fault = Identify(connection);
  if (auto fault = AccessFault(server_->options, head)) {
    message.fault = std::move(fault);
  }
  if (message.fault) {
    return;
  }
  if (server_->service.is_draining() && (route.resource == nullptr || !route.resource->is_state)) {
    message.fault = Draining();
    return;
  }
  if (!route.exists()) {
    if (!is_options || head.path != "*") {
      message.fault = server_->routes.NotFound(head.path, route);
    }
  } else if (route.endpoint != nullptr && head.method == "POST") {
    message.fault = ContentTypeFault(head.content_type);
    if (const auto fault = ContentEncodingFault(head.content_encoding)) {
      message.fault = fault;
      message.fault_fields = "Accept-Encoding: gzip, deflate, zstd\r\n";
    }
  } else if (!is_options && (route.resource == nullptr || !IsGet(head))) {
    message.fault = WrongMethod(head, route.Allow());
    message.fault_fields = "Allow: " + route.Allow() + "\r\n";
  }
}

void HttpProtocol::HandleHeader(const ConnectionPtr& connection) {
  Judge(*connection);
  const RequestHead& head = message_->header.head();
  if (head.framing.left() > static_cast<std::uint64_t>(context_.max_request_bytes)) {
    const bool lacks_key = message_->fault && message_->fault->code == 401;
    RefuseNow(connection, lacks_key ? *message_->fault : BodyTooLarge(context_.max_request_bytes));
    return;
  }
  if (head.expects_continue && head.framing.state() == BodyFraming::State::kMore) {
    if (message_->fault) {
      RefuseNow(connection, *message_->fault);
      return;
    }
    if (unparsed_.empty()) {
      connection->Send({.bytes = std::string(kContinue), .held = nullptr});
    }
  }
  ReadBody(connection);
}

bool HttpProtocol::KeepsBody() const {
  return !message_->fault && message_->route.endpoint != nullptr &&
         message_->header.head().method == "POST";
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
                              message_->fault = Overloaded();
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
  ReplyWriter writer(message_->terms, server_->service);
  if (message_->fault) {
    std::string bytes = FaultReply(*connection, writer, *message_->fault);
    Send(connection, writer, std::move(bytes));
  } else if (head.method == "OPTIONS") {
    std::string bytes = OptionsReply(writer);
    Send(connection, writer, std::move(bytes));
  } else if (head.method == "POST") {
    if (head.content_encoding.empty()) {
      PassOn(connection, {.bytes = std::move(message_->body)});
    } else {
      PassOnCompressed(connection);
    }
  } else {
    SendResource(connection, writer);
  }
}

void HttpProtocol::PassOnCompressed(const ConnectionPtr& connection) {
  const ContentCoding coding = CodingOf(message_->header.head().content_encoding);
  const std::int64_t claimed =
      ClaimedBytes(message_->body.text, coding, context_.max_request_bytes);
  connection->HoldRequest(/*before=*/0, claimed, [this, connection, coding, claimed](Held room) {
    if (!MayGoOn(*connection, {})) {
      return;
    }
    if (room == nullptr) {
      ReplyWriter writer(message_->terms, server_->service);
      std::string bytes = FaultReply(*connection, writer, Overloaded());
      Send(connection, writer, std::move(bytes));
      return;
    }
    PassOn(connection, {.bytes = std::move(message_->body),
                        .coding = coding,
                        .max_bytes = context_.max_request_bytes,
                        .claimed_bytes = claimed,
                        .room = std::move(room)});
  });
}

void HttpProtocol::PassOn(const ConnectionPtr& connection, HttpBody body) {
  const Endpoint& endpoint = *message_->route.endpoint;
  const auto call = connection->BeginRequest(std::make_unique<HttpFormat>(
      endpoint, std::move(body), connection->address_bytes(),
      ReplyWriter(std::move(message_->terms), server_->service), std::move(message_->route.id)));
  call->SetEndpoint(endpoint);
  message_.reset();
  context_.handler.Handle(call);
  connection->ReadNext();
}

std::string HttpProtocol::OptionsReply(ReplyWriter& writer) const {
  const RequestHead& head = message_->header.head();
  const std::string allowed =
      head.path == "*" ? "GET, HEAD, POST, OPTIONS" : message_->route.Allow();
  std::string fields = "Allow: " + allowed + "\r\n";
  if (!head.preflight_method.empty() && AllowsOrigin(server_->options.cors_origins, head.origin)) {
    fields += PreflightFields(allowed, head.preflight_fields);
  }
  return writer.WithoutBody(204, fields);
}

void HttpProtocol::SendResource(const ConnectionPtr& connection, ReplyWriter& writer) {
  SharedContent content;
  std::shared_ptr<const std::string> body;
  std::optional<ContentCoding> coding;
  try {
    content = message_->route.Content();
    body = {content, &content->body};
    coding = writer.CodingOfBody(body->size());
    if (coding && body->size() > kCopiedBytes) {
      body = server_->compressed.Get(message_->route.resource->path, content, *coding);
    }
  } catch (const std::exception& exception) {
    std::string bytes = FaultReply(*connection, writer, FaultOf(exception));
    Send(connection, writer, std::move(bytes));
    return;
  }
  if (content->body.size() <= kCopiedBytes) {
    std::string bytes = writer.Whole(content->status, content->content_type, content->body);
    Send(connection, writer, std::move(bytes));
    return;
  }
  std::string header = writer.BeforeBody(content->status, content->content_type,
                                         content->body.size(), body->size(), coding);
  Send(connection, writer, std::move(header), writer.is_head() ? nullptr : std::move(body));
}

std::string HttpProtocol::FaultReply(const Connection& connection, ReplyWriter& writer,
                                     const proto::Error& error) const {
  const Holder& holder = connection.holder();
  context_.handler.CountRefusal(message_->route.endpoint, connection.client(), holder, error);
  LogRefusal(kName, message_->terms.request_id, holder == nullptr ? "" : holder->key.name, error);
  return writer.Error(error, message_->fault_fields);
}

void HttpProtocol::RefuseNow(const ConnectionPtr& connection, const proto::Error& error) {
  message_->terms.keep_alive = false;
  ReplyWriter writer(message_->terms, server_->service);
  std::string bytes = FaultReply(*connection, writer, error);
  std::string().swap(unparsed_);
  Send(connection, writer, std::move(bytes));
}

void HttpProtocol::Send(const ConnectionPtr& connection, const ReplyWriter& writer,
                        std::string bytes, std::shared_ptr<const std::string> rest) {
  const auto call = connection->BeginRequest(/*format=*/nullptr);
  Reply reply = ToReply(std::move(bytes), call->replies(), std::move(rest));
  reply.ends_connection = writer.ends_connection();
  message_.reset();
  call->Send(std::move(reply));
  call->Begun();
  connection->ReadNext();
}

MakeProtocol MakeHttpProtocol(const RequestService& service, HttpOptions options) {
  const auto server = std::make_shared<const HttpServer>(service, std::move(options));
  return [server](const ProtocolContext& context) {
    return std::make_unique<HttpProtocol>(context, server);
  };
}

}  // namespace scorecast::coordinator
