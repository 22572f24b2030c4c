#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/system/error_code.hpp>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/resources/reply_field.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/connection.h"
#include "coordinator/transports/connection/protocol.h"
#include "coordinator/transports/http/http_options.h"
#include "coordinator/transports/http/http_reply_writer.h"
#include "coordinator/transports/http/request_head.h"
#include "coordinator/transports/web/http_body.h"
#include "coordinator/transports/web/immediate_reply.h"
#include "coordinator/transports/web/inflate.h"
#include "coordinator/transports/web/reply_writer.h"
#include "coordinator/transports/web/web_server.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// What all HTTP connections of a server share.
struct HttpServer {
  HttpServer(EndpointList endpoints, HttpOptions http_options)
      : web(endpoints, std::move(http_options.web)), options(std::move(http_options)) {}

  const WebServer web;
  const HttpOptions options;  ///< Without those of `web`.
};

/// HTTP/1.1 and HTTP/1.0. A client may send its next request before it has the reply to the last
/// one, but requests are handled one after another, so that replies come in their order. Bytes that
/// were read together with a request and follow it stay here.
///
/// A fault of a request is known when its header is. The body is then read and dropped, so that the
/// connection goes on, unless it is too long or its end is not known.
class HttpProtocol : public Protocol {
 public:
  HttpProtocol(const ProtocolContext& context, std::shared_ptr<const HttpServer> server)
      : context_(context), server_(std::move(server)) {}

  void ReadRequest(std::shared_ptr<Connection> connection) override;
  Reply ErrorReply(const proto::Error& error, HeldBytes& replies) const override;
  std::size_t max_in_flight() const override { return 1; }

 private:
  using ConnectionPtr = std::shared_ptr<Connection>;

  static constexpr std::size_t kReadBytes = std::size_t{4} << 10;
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

  /// A body is read in pieces, so that announcing a length takes no memory, and neither do many
  /// bodies of which little has arrived: a piece is at most as large as all before it.
  static std::size_t PieceAfter(std::uint64_t bytes) {
    return std::clamp<std::uint64_t>(bytes, kReadBytes, kPieceBytes);
  }

  /// The request that is being read.
  struct Message {
    Message();  // Clang cannot use the initializers of members before the end of HttpProtocol.

    HeadParser header;
    HttpReplyTerms terms;
    Judgement judgement;  ///< A fault is the reply, when the body has been dropped.
    HeldText body;
    std::size_t body_limit = 0;   ///< Bytes that `body` may have: those that are held for it.
    std::int64_t body_bytes = 0;  ///< Also those that were dropped.
    Held unparsed;                ///< The bytes that `unparsed_` may have.
    std::size_t unparsed_limit = 0;
  };

  /// False if the connection has ended or is ending; the request is then dropped.
  bool MayGoOn(Connection& connection, const boost::system::error_code& error);
  /// Reads up to `bytes` to the end of `unparsed_`, then calls `next` unless the connection has
  /// ended or is ending.
  template <typename Next>
  void ReadMore(const ConnectionPtr& connection, std::size_t bytes, Next next);
  void Begin(const ConnectionPtr& connection);
  void ReadHeader(const ConnectionPtr& connection);
  void HandleHeader(const ConnectionPtr& connection);
  /// Judges the request whose header has arrived, and sets the connection's client.
  void JudgeHeader(Connection& connection);
  /// Whether only clients with a key may send the request.
  bool NeedsKey() const;
  /// Sets the connection's client: the holder of the request's key, or the address from which the
  /// request comes. The 401 of a key that is wrong or missing.
  std::optional<proto::Error> Identify(Connection& connection);
  void ReadBody(const ConnectionPtr& connection);
  /// `bytes` that the request has, as Connection::HoldRequest takes them.
  std::int64_t Before(std::int64_t bytes) const;
  /// Lets the body have one piece more, or drops it if there is no room. Then goes on reading it.
  void HoldBody(const ConnectionPtr& connection);
  /// Whether the handler of calls gets the request. Bodies of other requests are dropped as they
  /// arrive.
  bool KeepsBody() const;
  /// Adds bytes to the body, or drops them. False if the body is too large.
  bool Keep(std::string_view bytes);
  /// Replies to the request, which has arrived as a whole.
  void Handle(const ConnectionPtr& connection);
  void PassOn(const ConnectionPtr& connection, HttpBody body);
  HttpReplyWriter NewWriter() const { return HttpReplyWriter(message_->terms, context_.handler); }
  Requester RequesterOf(const Connection& connection) const;
  /// Further fields of the reply to an OPTIONS.
  ReplyFields PreflightReplyFields() const;
  /// Replies to the request with the error.
  void Refuse(const ConnectionPtr& connection, const proto::Error& error);
  /// Replies to the request, which may not have arrived as a whole: the connection then ends.
  void RefuseNow(const ConnectionPtr& connection, const proto::Error& error);
  void Send(const ConnectionPtr& connection, const ReplyWriter& writer, ImmediateReply formed);

  const ProtocolContext& context_;
  const std::shared_ptr<const HttpServer> server_;
  std::array<char, 512> first_{};  ///< So that an idle connection needs no more.
  std::string unparsed_;           ///< Bytes that were read.
  std::optional<Message> message_;
};

/// For RequestServer::Listen. The endpoints must outlive the server.
MakeProtocol MakeHttpProtocol(EndpointList endpoints, HttpOptions options);

}  // namespace scorecast::coordinator
