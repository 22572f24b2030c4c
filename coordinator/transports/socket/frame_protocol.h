#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/call_format.h"
#include "coordinator/transports/connection/connection.h"
#include "coordinator/transports/connection/protocol.h"
#include "coordinator/transports/socket/forwarded.h"
#include "coordinator/transports/socket/frame_reply_writer.h"
#include "coordinator/transports/socket/request_envelope.h"
#include "coordinator/transports/socket/server_state.h"
#include "coordinator/transports/socket/session_messages.h"
#include "coordinator/transports/web/http_body.h"
#include "coordinator/transports/web/reply_writer.h"
#include "coordinator/transports/web/web_options.h"
#include "coordinator/transports/web/web_request.h"
#include "coordinator/transports/web/web_server.h"
#include "proto/base/error.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {

/// The format of a request that is passed on, of which only its id is known. `message` is the
/// content of its frame, and `held` are its bytes.
using MakePassedFrame = std::function<std::unique_ptr<CallFormat>(
    std::string message, std::uint64_t request_id, std::vector<Held> held)>;

/// What the request socket of a front does that of a service does not.
struct FrontFrames {
  MakePassedFrame pass_on;  ///< Makes the format of requests, in place of FrameFormat.
  DrainReplica drain;
};

/// What the request socket's connections of a server share.
struct FrameServer {
  FrameServer(EndpointList endpoints, ServerFacts server_facts, std::function<ServerState()> ask,
              WebOptions web_options, FrontFrames front_frames)
      : facts(std::move(server_facts)),
        state(std::make_shared<RecentState>(std::move(ask))),
        web(endpoints, std::move(web_options)),
        front(std::move(front_frames)) {}

  const ServerFacts facts;
  const std::shared_ptr<RecentState> state;
  const WebServer web;      ///< What fronts ask for by HTTP requests.
  const FrontFrames front;  ///< Empty if it is that of a service.
};

/// Requests and replies as frames: a length, then a protobuf message of that length. Replies carry
/// the number of their request, so they may come in any order.
class FrameProtocol : public Protocol {
 public:
  FrameProtocol(const ProtocolContext& context, std::shared_ptr<const FrameServer> server)
      : context_(context), server_(std::move(server)) {}

  void ReadRequest(std::shared_ptr<Connection> connection) override;
  Reply ErrorReply(const proto::Error& error, HeldBytes& replies) const override;
  std::size_t max_in_flight() const override { return kMaxInFlight; }
  bool reads_ahead() const override { return true; }

 private:
  static constexpr std::size_t kMaxInFlight = 256;
  /// A message is read in pieces, so that announcing a length takes no memory.
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

  using ConnectionPtr = std::shared_ptr<Connection>;

  /// An HTTP request that a front passes on.
  struct HttpExchange {
    WebRequest request;
    ReplyTerms terms;
    FrameReplyTerms frame_terms;
    std::optional<ForwardedFor> forwarded;
    Judgement judgement;
  };

  /// False if the connection has ended or is ending; the request is then dropped.
  bool MayGoOn(Connection& connection, const boost::system::error_code& error);
  /// Fills `buffer`, then calls `next` unless the connection has ended or is ending.
  template <typename Next>
  void Fill(const ConnectionPtr& connection, boost::asio::mutable_buffer buffer, Next next);
  /// Reads until `message_` has `length` bytes, then handles it. There is room for the first
  /// `before`.
  void ReadMessage(const ConnectionPtr& connection, std::size_t length, std::size_t before = 0);
  /// Why the client, which may still show a key, may send nothing else.
  std::optional<proto::Error> StrangerFault(const Connection& connection) const;
  /// Upper bound on a message. A front may send an HTTP request with the largest body.
  std::int64_t MaxMessageBytes(const Connection& connection) const;
  /// Reads the beginning of a front's message, which says the request's id: a front has many
  /// requests in flight, and is to know which of them is refused.
  void HandleHeader(const ConnectionPtr& connection);
  void HandleBeginning(const ConnectionPtr& connection, std::size_t length);
  /// Refuses a message of `length` bytes, of which those in `message_` have been read.
  void RefuseMessage(const ConnectionPtr& connection, const proto::Error& error,
                     std::size_t length);
  /// Reads `length` bytes and drops them.
  void SkipMessage(const ConnectionPtr& connection, std::size_t length);
  void HandleMessage(const ConnectionPtr& connection);
  void BeginRequest(const ConnectionPtr& connection);
  /// The same for an HTTP request, which has no fault as a message.
  void BeginHttpRequest(const ConnectionPtr& connection, const HttpEnvelope& envelope,
                        HttpExchange exchange);
  /// Passes it on to its endpoint, if it is compressed when there is room for what it becomes.
  void PassOn(const ConnectionPtr& connection, HttpExchange& exchange, HttpBody body);
  /// Replies to it by itself.
  void ReplyToHttp(const ConnectionPtr& connection, const HttpExchange& exchange);
  void ReleaseMessage();
  /// The frame that tells the client the server's state.
  std::string StatusFrame() const;
  /// Sends it, now and then every `status_interval_`, until the front's key is revoked.
  void SendStatus(const ConnectionPtr& connection);
  /// Lets SendStatus be called after `status_interval_`.
  void ArmStatus(const ConnectionPtr& connection);

  const ProtocolContext& context_;
  const std::shared_ptr<const FrameServer> server_;
  proto::FrameHeader header_{};
  std::string message_;
  std::vector<Held> held_;  ///< One for each piece of `message_` for which there is room.
  std::chrono::milliseconds status_interval_{0};
  std::optional<boost::asio::steady_timer> status_timer_;  ///< Set if the client asked for states.
};

/// For RequestServer. The endpoints must outlive the server. `state` is called on any thread, as
/// long as the server lives. `web` is what fronts find at the URLs of HTTP requests.
MakeProtocol MakeFrameProtocol(EndpointList endpoints, ServerFacts facts = {},
                               std::function<ServerState()> state = {}, WebOptions web = {},
                               FrontFrames front = {});

}  // namespace scorecast::coordinator
