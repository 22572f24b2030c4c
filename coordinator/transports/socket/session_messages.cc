#include "coordinator/transports/socket/session_messages.h"

#include <cstdint>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "coordinator/json/response_writer.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/transports/socket/frame_format.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace {

/// Whether the message has a field with one of these messages, beside which it has no long ones.
bool IsSessionMessage(const std::string& message) {
  using google::protobuf::internal::WireFormatLite;
  if (message.size() > kMaxSessionBytes) {
    return false;
  }
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  while (const std::uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    if (field == v1::Request::kAuthenticateFieldNumber ||
        field == v1::Request::kReloadFieldNumber || field == v1::Request::kCancelFieldNumber) {
      return true;
    }
    if (!WireFormatLite::SkipField(&in, tag)) {
      return false;
    }
  }
  return false;
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

std::optional<std::string> SessionReply(const std::string& message, Connection& connection,
                                        ApiKeys* keys) {
  v1::Request request;
  if (!IsSessionMessage(message) || !request.ParseFromString(message) ||
      (!request.has_authenticate() && !request.has_reload() && !request.has_cancel())) {
    return std::nullopt;
  }
  v1::Response response;
  response.set_request_id(request.request_id());
  if (request.has_authenticate()) {
    Authenticate(request.authenticate().api_key(), connection, keys, response);
  } else if (request.has_cancel()) {
    return Cancel(request.cancel().request_id(), connection, response) + proto::ToFrame(response);
  } else {
    Reload(connection, keys, response);
  }
  return proto::ToFrame(response);
}

}  // namespace scorecast::coordinator
