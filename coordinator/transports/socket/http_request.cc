#include "coordinator/transports/socket/http_request.h"

#include <utility>

#include "coordinator/transports/web/field_value.h"
#include "coordinator/transports/web/request_id.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

std::optional<PassedRequest> ReadHttpRequest(const std::string& bytes) {
  v1::HttpRequest message;
  if (!message.ParseFromString(bytes)) {
    return std::nullopt;
  }
  return PassedRequest{
      .request = {.method = std::move(*message.mutable_method()),
                  .path = std::move(*message.mutable_path()),
                  .path_prefix = std::move(*message.mutable_path_prefix()),
                  .content_type = std::move(*message.mutable_content_type()),
                  .content_encoding = EncodingOf(std::move(*message.mutable_content_encoding())),
                  .accept_encoding = std::move(*message.mutable_accept_encoding())},
      .request_id = RequestId(message.request_id())};
}

}  // namespace scorecast::coordinator
