#include "coordinator/endpoints/vllm/vllm_endpoints.h"

#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/endpoints/vllm/classify_request.h"
#include "coordinator/endpoints/vllm/pooling_request.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

constexpr ModelKinds kClassifiers = {ModelKind::kClassifier, ModelKind::kEncoderClassifier};
constexpr ModelKinds kPooling = kClassifiers | ModelKinds{ModelKind::kEmbedder};

}  // namespace

const Endpoint& ClassifyEndpoint() {
  static const MessageEndpoint endpoint(
      "classify", {"/classify", "/v1/classify"},
      {&FormOf(*v1::Classifications::descriptor(), *v1::ClassifyResponse::descriptor())},
      RequestFormOf<v1::ClassifyRequest>({PrepareClassify<v1::ClassifyRequest>,
                                          ClassifyResponseBytesBound<v1::ClassifyRequest>,
                                          kClassifiers}),
      RequestFormOf<v1::ClassifyChatRequest>({PrepareClassify<v1::ClassifyChatRequest>,
                                              ClassifyResponseBytesBound<v1::ClassifyChatRequest>,
                                              kClassifiers}));
  return endpoint;
}

const Endpoint& PoolingEndpoint() {
  static const MessageEndpoint endpoint(
      "pooling", {"/pooling", "/v1/pooling"},
      {&FormOf(*v1::PoolingResults::descriptor(), *v1::PoolingResponse::descriptor()),
       &FormOf(*v1::PoolingResults::descriptor(), *v1::PoolingRowsResponse::descriptor()),
       &FormOf(*v1::PoolingResults::descriptor(), *v1::PoolingBase64Response::descriptor())},
      RequestFormOf<v1::PoolingRequest>({PreparePooling<v1::PoolingRequest>,
                                         PoolingResponseBytesBound<v1::PoolingRequest>, kPooling}),
      RequestFormOf<v1::PoolingChatRequest>({PreparePooling<v1::PoolingChatRequest>,
                                             PoolingResponseBytesBound<v1::PoolingChatRequest>,
                                             kPooling}));
  return endpoint;
}

}  // namespace scorecast::coordinator
