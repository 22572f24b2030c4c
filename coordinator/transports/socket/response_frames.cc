#include "coordinator/transports/socket/response_frames.h"

#include <string>
#include <utility>

#include "coordinator/endpoints/value_messages.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {

Reply ToReply(const v1::Response& response, HeldBytes& replies) {
  std::string frame = proto::ToFrame(response);
  Held held = replies.Hold(static_cast<std::int64_t>(frame.size()));
  return {std::move(frame), std::move(held)};
}

Reply ErrorReply(std::uint64_t request_id, const proto::Error& error, HeldBytes& replies) {
  v1::Response response;
  response.set_request_id(request_id);
  ToMessage(error, *response.mutable_error());
  return ToReply(response, replies);
}

}  // namespace scorecast::coordinator
