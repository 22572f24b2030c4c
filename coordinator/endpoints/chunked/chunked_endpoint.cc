#include "coordinator/endpoints/chunked/chunked_endpoint.h"

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/endpoints/message_endpoint.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

const Endpoint& ChunkedEndpoint() {
  static const MessageEndpoint endpoint(
      "chunked", {"/v1/chunked"}, {&FormOf(*v1::ChunkedResponse::descriptor())},
      RequestFormOf<v1::ChunkedRequest>({PrepareChunked,
                                         ChunkedResponseBytesBound,
                                         {ModelKind::kLanguageModel, ModelKind::kClassifier},
                                         {v1::ChunkedRequest::kMaxNewTokensFieldNumber}}));
  return endpoint;
}

}  // namespace scorecast::coordinator
