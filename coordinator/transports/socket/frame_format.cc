#include "coordinator/transports/socket/frame_format.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "coordinator/json/response_writer.h"
#include "proto/base/check.h"
#include "proto/scorecast.pb.h"
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

/// The frame of a v1::Response with the result, which is not copied for that.
std::string FrameOf(std::uint64_t request_id, const Message& result) {
  v1::Response rest;
  rest.set_request_id(request_id);
  return proto::ToFrame(rest, FieldOf(result), result);
}

}  // namespace

std::string FrameFormat::Delta(std::size_t output, const CompletionDelta& delta) {
  return FrameOf(request_id_, endpoint_->Delta(output, delta)->message());
}

std::string FrameFormat::Response(const EndpointResponse& response) {
  return FrameOf(request_id_, response.message());
}

std::string FrameFormat::Error(const proto::Error& error) {
  v1::Error message;
  ToMessage(error, message);
  return FrameOf(request_id_, message);
}

}  // namespace scorecast::coordinator
