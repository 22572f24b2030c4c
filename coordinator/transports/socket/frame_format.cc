#include "coordinator/transports/socket/frame_format.h"

#include "coordinator/endpoints/value_messages.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {

std::string FrameFormat::Delta(std::size_t output, const CompletionDelta& delta) {
  v1::Response message;
  message.set_request_id(request_id_);
  endpoint_->ToMessage(output, delta, message);
  return proto::ToFrame(message);
}

std::string FrameFormat::Response(const EndpointResponse& response) {
  v1::Response message;
  message.set_request_id(request_id_);
  response.ToMessage(message);
  return proto::ToFrame(message);
}

std::string FrameFormat::Error(const proto::Error& error) {
  v1::Response message;
  message.set_request_id(request_id_);
  ToMessage(error, *message.mutable_error());
  return proto::ToFrame(message);
}

}  // namespace scorecast::coordinator
