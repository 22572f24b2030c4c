#include "coordinator/transports/socket/frame_request.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "coordinator/request/request_error.h"
#include "coordinator/request/value_limit.h"
#include "coordinator/transports/socket/frame_format.h"
#include "coordinator/transports/socket/message_values.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

IncomingRequest Fault(std::uint64_t request_id, proto::Error error) {
  return {std::make_shared<FrameFormat>(request_id, nullptr), nullptr,
          proto::Unexpected(std::move(error)), nullptr};
}

/// Reads only what stands beside the request's fields. 0 if the message is none.
std::uint64_t RequestIdOf(const std::string& message) {
  using google::protobuf::internal::WireFormatLite;
  constexpr auto kTag =
      WireFormatLite::MakeTag(v1::Request::kRequestIdFieldNumber, WireFormatLite::WIRETYPE_VARINT);
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  std::uint64_t id = 0;
  while (const std::uint32_t tag = in.ReadTag()) {
    if (tag == kTag ? !in.ReadVarint64(&id) : !WireFormatLite::SkipField(&in, tag)) {
      return 0;
    }
  }
  return in.ConsumedEntireMessage() ? id : 0;
}

IncomingRequest Parse(const RequestService& service, const std::string& message) {
  const std::int64_t max_values = service.max_values();
  if (HasMoreValues(message, *v1::Request::descriptor(), max_values)) {
    return Fault(0, TooManyValues(max_values));
  }
  v1::Request request;
  if (!request.ParseFromString(message)) {
    return Fault(0, BadRequest("not_a_message",
                               "The frame is not a scorecast.v1.Request, or a text in it is not "
                               "valid UTF-8.",
                               ""));
  }
  const Endpoint* endpoint = service.FindByMessageField(request.endpoint_case());
  if (endpoint == nullptr) {
    return Fault(
        request.request_id(),
        BadRequest("unknown_endpoint", "The request names no endpoint of this server.", ""));
  }
  return {std::make_shared<FrameFormat>(request.request_id(), endpoint), endpoint,
          endpoint->FromMessage(request), nullptr};
}

}  // namespace

IncomingRequest RefusedFrameRequest(const std::string& message, const proto::Error& refusal) {
  return Fault(RequestIdOf(message), refusal);
}

IncomingRequest FrameRequest(const RequestService& service, const std::string& message) {
  try {
    return Parse(service, message);
  } catch (const std::exception& exception) {
    return Fault(0, FaultOf(exception));
  }
}

}  // namespace scorecast::coordinator
