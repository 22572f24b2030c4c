#include "coordinator/transports/socket/frame_format.h"

#include <exception>
#include <memory>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "coordinator/request/request_error.h"
#include "coordinator/request/value_limit.h"
#include "coordinator/service/request_service.h"
#include "coordinator/transports/socket/forwarded.h"
#include "coordinator/transports/socket/message_values.h"
#include "proto/base/check.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/error_message.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace {

using google::protobuf::Message;

/// Number of the field of v1::Response that has messages of this type.
int FieldOf(const Message& result) {
  const google::protobuf::OneofDescriptor& results = *v1::Response::descriptor()->oneof_decl(0);
  for (int i = 0; i < results.field_count(); ++i) {
    if (results.field(i)->message_type() == result.GetDescriptor()) {
      return results.field(i)->number();
    }
  }
  proto::Check(false, "an endpoint that has a message has one in v1::Response");
  return 0;
}

/// The frame of a v1::Response with the result, which is not copied for that. `rest` has the other
/// fields.
std::string FrameOf(const v1::Response& rest, const Message& result) {
  return proto::ToFrame(rest, FieldOf(result), result);
}

}  // namespace

proto::Error NotAMessage() {
  return BadRequest("not_a_message",
                    "The frame is not a scorecast.v1.Request, or a text in it is not valid UTF-8.",
                    "");
}

FrameFormat::FrameFormat(std::string message, const RequestEnvelope& envelope,
                         std::vector<Held> held, std::shared_ptr<RecentState> state)
    : message_(std::move(message)),
      held_(std::move(held)),
      request_bytes_(message_.size()),
      number_(envelope.request_id),
      has_forwarded_(envelope.forwarded.has_value()),
      state_(std::move(state)),
      // A front has written the number in front of its client's bytes. So it is that of the request
      // even if these bytes have a fault, and the front must know which request has it.
      request_id_(envelope.forwarded ? envelope.request_id : 0) {}

ParsedRequest FrameFormat::Parse(const RequestService& service, Call& call) {
  try {
    call.HoldBytes(std::make_shared<std::vector<Held>>(std::move(held_)));
    return ParseMessage(service, call, std::exchange(message_, {}));
  } catch (const std::exception& exception) {
    return proto::Unexpected(FaultOf(exception));
  }
}

ParsedRequest FrameFormat::ParseMessage(const RequestService& service, Call& call,
                                        const std::string& message) {
  const std::int64_t max_values = service.max_values();
  if (HasMoreValues(message, *v1::Request::descriptor(), max_values)) {
    return proto::Unexpected(TooManyValues(max_values));
  }
  v1::Request request;
  if (!request.ParseFromString(message) || request.has_forwarded() != has_forwarded_) {
    return proto::Unexpected(NotAMessage());
  }
  const std::uint64_t request_id = request.request_id();
  const Endpoint* endpoint = service.FindByMessageField(request.endpoint_case());
  ParsedRequest parsed =
      endpoint == nullptr
          ? ParsedRequest(proto::Unexpected(BadRequest(
                "unknown_endpoint", "The request names no endpoint of this server.", "")))
          : endpoint->FromMessage(std::move(request));
  // Last, because nothing is known of a request whose parsing throws.
  request_id_ = request_id;
  if (endpoint != nullptr) {
    call.SetEndpoint(*endpoint);
  }
  return parsed;
}

void FrameFormat::Skip() {
  request_id_ = number_;
  std::string().swap(message_);
  held_.clear();
}

std::string FrameFormat::LastFrame(const Message& result) const {
  v1::Response rest;
  rest.set_request_id(request_id_);
  if (state_ != nullptr) {
    ToMessage(state_->Get(), *rest.mutable_status());
  }
  return FrameOf(rest, result);
}

std::string FrameFormat::Delta(const EndpointResponse& delta) {
  v1::Response rest;
  rest.set_request_id(request_id_);
  if (has_forwarded_ && delta.position()) {
    ToMessage(*delta.position(), *rest.mutable_position());
  }
  return FrameOf(rest, delta.message());
}

std::string FrameFormat::Response(const EndpointResponse& response) {
  return LastFrame(response.message());
}

std::string FrameFormat::Error(const proto::Error& error) {
  v1::Error message;
  ToMessage(error, message);
  return LastFrame(message);
}

}  // namespace scorecast::coordinator
