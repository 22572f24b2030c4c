#include "coordinator/transports/socket/session_messages.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "coordinator/access/api_keys.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/transports/socket/frame_format.h"
#include "proto/base/one_line.h"
#include "proto/log/log.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/error_message.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace {

/// Whether the message has a field with one of these messages, beside which it has no long ones. A
/// message that is passed on for a client is none: it would act on the front's connection.
bool IsSessionMessage(const std::string& message) {
  using google::protobuf::internal::WireFormatLite;
  if (message.size() > kMaxSessionBytes) {
    return false;
  }
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  bool is_session = false;
  while (const std::uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    if (field == v1::Request::kForwardedFieldNumber || !WireFormatLite::SkipField(&in, tag)) {
      return false;
    }
    is_session = is_session || field == v1::Request::kAuthenticateFieldNumber ||
                 field == v1::Request::kReloadFieldNumber ||
                 field == v1::Request::kCancelFieldNumber ||
                 field == v1::Request::kHelloFieldNumber || field == v1::Request::kDrainFieldNumber;
  }
  return is_session;
}

/// Answers with the error, which counts as that of the connection's client.
void Refuse(const proto::Error& error, Connection& connection, v1::Response& response) {
  connection.CountRefusal(error);
  ToMessage(error, *response.mutable_error());
}

void Authenticate(const std::string& key, Connection& connection, const ApiKeys* keys,
                  v1::Response& response) {
  if (keys == nullptr) {
    response.mutable_authenticated();
    return;
  }
  auto holder = keys->Find({key});
  if (!holder) {
    connection.SetClient(connection.peer(), nullptr);
    Refuse(holder.error(), connection, response);
    return;
  }
  response.mutable_authenticated()->set_name((*holder)->key.name);
  ClientId client = (*holder)->Client(connection.peer().connection);
  connection.SetClient(std::move(client), *std::move(holder));
}

void Reload(Connection& connection, ApiKeys* keys, v1::Response& response) {
  if (keys == nullptr) {
    Refuse(BadRequest("nothing_to_reload", "The server was started without --api-keys.", ""),
           connection, response);
    return;
  }
  if (auto fault = keys->KeyFault(connection.holder())) {
    Refuse(*fault, connection, response);
    return;
  }
  const auto changes = keys->Reload();
  if (!changes) {
    Refuse({409, "not_reloaded", changes.error(), ""}, connection, response);
    return;
  }
  v1::Reloaded& reloaded = *response.mutable_reloaded();
  reloaded.set_keys(static_cast<std::uint32_t>(changes->keys));
  reloaded.set_added(static_cast<std::uint32_t>(changes->added));
  reloaded.set_revoked(static_cast<std::uint32_t>(changes->revoked));
}

void Drain(const v1::Drain& drain, Connection& connection, const DrainReplica& drain_replica,
           v1::Response& response) {
  if (drain_replica == nullptr) {
    Refuse(BadRequest("not_a_front", "This is a service. Only a front drains replicas.", ""),
           connection, response);
    return;
  }
  const auto requests = drain_replica(drain);
  if (!requests) {
    Refuse(requests.error(), connection, response);
    return;
  }
  response.mutable_drained()->set_requests(static_cast<std::uint32_t>(*requests));
}

/// Why the client gets no reply to its Hello. Makes it a front if it shows the key of one.
std::optional<proto::Error> Greet(const v1::Hello& hello, Connection& connection,
                                  const ProtocolContext& context) {
  if (hello.front_key().empty()) {
    if (connection.front() != nullptr) {
      return FrontFault(connection, context);
    }
    if (hello.has_status_interval_ms()) {
      return proto::Error{403, "not_a_front", "Only a front is told the state of the server.",
                          "status_interval_ms"};
    }
    return context.keys == nullptr ? std::nullopt : context.keys->KeyFault(connection.holder());
  }
  if (context.front_keys != nullptr) {
    if (auto front = context.front_keys->Find({hello.front_key()})) {
      proto::LogInfo("front {} has connected from {}, scorecast {}", (*front)->key.name,
                     connection.peer().address.text(), proto::Quoted(hello.version()));
      connection.BecomeFront(*std::move(front));
      return std::nullopt;
    }
  }
  return proto::Error{401, "unauthorized", "The key is not that of a front of this server.",
                      "front_key"};
}

std::chrono::milliseconds StatusInterval(std::uint32_t interval_ms) {
  constexpr std::uint32_t kUsual = 100;
  constexpr std::uint32_t kLeast = 10;
  constexpr std::uint32_t kMost = 60'000;
  return std::chrono::milliseconds(
      std::clamp(interval_ms == 0 ? kUsual : interval_ms, kLeast, kMost));
}

void Hello(const v1::Hello& hello, Connection& connection, const ProtocolContext& context,
           const ServerFacts& facts, v1::Response& response) {
  if (const auto fault = Greet(hello, connection, context)) {
    Refuse(*fault, connection, response);
    return;
  }
  v1::HelloReply& reply = *response.mutable_hello();
  reply.set_version(facts.version);
  reply.set_model(facts.model);
  reply.set_kind(facts.kind);
  reply.set_fingerprint(facts.fingerprint);
  reply.set_dtype(facts.dtype);
  reply.set_kernel_set(facts.kernel_set);
  reply.set_max_values(facts.max_values);
  reply.set_trusted(connection.front() != nullptr);
  reply.set_max_request_bytes(context.max_request_bytes);
  reply.set_max_requests_in_flight(static_cast<std::int64_t>(connection.max_in_flight()));
}

/// Returns the frames of the replies to the requests that are ended.
std::string Cancel(std::uint64_t request_id, Connection& connection, v1::Response& response) {
  const std::size_t requests = connection.Cancel(request_id);
  response.mutable_cancelled()->set_requests(static_cast<std::uint32_t>(requests));
  std::string frames;
  for (std::size_t i = 0; i < requests; ++i) {
    frames += FrameFormat(request_id)
                  .Error({499, "cancelled", "The client has cancelled the request.", ""});
  }
  return frames;
}

}  // namespace

std::optional<proto::Error> FrontFault(const Connection& connection,
                                       const ProtocolContext& context) {
  return connection.front() == nullptr ? std::nullopt
                                       : context.front_keys->KeyFault(connection.front());
}

std::optional<SessionReply> AnswerSession(const std::string& message, Connection& connection,
                                          const ProtocolContext& context, const ServerFacts& facts,
                                          const DrainReplica& drain) {
  v1::Request request;
  if (!IsSessionMessage(message) || !request.ParseFromString(message)) {
    return std::nullopt;
  }
  v1::Response response;
  response.set_request_id(request.request_id());
  SessionReply reply;
  switch (request.endpoint_case()) {
    case v1::Request::kAuthenticate:
      Authenticate(request.authenticate().api_key(), connection, context.keys, response);
      break;
    case v1::Request::kHello:
      Hello(request.hello(), connection, context, facts, response);
      if (response.has_hello() && request.hello().has_status_interval_ms()) {
        reply.status_interval = StatusInterval(request.hello().status_interval_ms());
      }
      break;
    case v1::Request::kReload:
      Reload(connection, context.keys, response);
      break;
    case v1::Request::kDrain:
      Drain(request.drain(), connection, drain, response);
      break;
    case v1::Request::kCancel:
      reply.frames = Cancel(request.cancel().request_id(), connection, response);
      break;
    default:
      return std::nullopt;
  }
  reply.frames += proto::ToFrame(response);
  return reply;
}

}  // namespace scorecast::coordinator
