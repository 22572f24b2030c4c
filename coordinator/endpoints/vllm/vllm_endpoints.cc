#include "coordinator/endpoints/vllm/vllm_endpoints.h"

#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/endpoints/vllm/classify_request.h"
#include "coordinator/endpoints/vllm/pooling_request.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

const Endpoint& ClassifyEndpoint() {
  static const MessageEndpoint endpoint(
      "classify", {"/classify", "/v1/classify"},
      {&FormOf(*v1::Classifications::descriptor(), *v1::ClassifyResponse::descriptor())},
      RequestFormOf<v1::ClassifyRequest>(
          {PrepareClassify,
           ClassifyResponseBytesBound,
           {ModelKind::kClassifier, ModelKind::kEncoderClassifier}}));
  return endpoint;
}

const Endpoint& PoolingEndpoint() {
  static const MessageEndpoint endpoint(
      "pooling", {"/pooling", "/v1/pooling"},
      {&FormOf(*v1::PoolingResults::descriptor(), *v1::PoolingResponse::descriptor()),
       &FormOf(*v1::PoolingResults::descriptor(), *v1::PoolingRowsResponse::descriptor()),
       &FormOf(*v1::PoolingResults::descriptor(), *v1::PoolingBase64Response::descriptor())},
      RequestFormOf<v1::PoolingRequest>(
          {PreparePooling,
           PoolingResponseBytesBound,
           {ModelKind::kClassifier, ModelKind::kEncoderClassifier, ModelKind::kEmbedder}}));
  return endpoint;
}

}  // namespace scorecast::coordinator
