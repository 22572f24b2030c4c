#include "coordinator/endpoints/tei/tei_endpoints.h"

#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/endpoints/tei/embed_request.h"
#include "coordinator/endpoints/tei/pinecone_request.h"
#include "coordinator/endpoints/tei/predict_request.h"
#include "coordinator/endpoints/tei/similarity_request.h"
#include "coordinator/json/response_writer.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

class TeiEndpoint : public MessageEndpoint {
 public:
  using MessageEndpoint::MessageEndpoint;

  const ResponseForm& error_form() const override { return UrlErrorForm(); }
};

const MessageRequest<v1::PineconeEmbedRequest>::Uses kPineconeUses = {
    PreparePineconeEmbed, PineconeEmbedResponseBytesBound, {ModelKind::kEmbedder}};

const ResponseForm& PineconeEmbedForm() {
  return FormOf(*v1::EmbeddingsResponse::descriptor(), *v1::PineconeEmbedResponse::descriptor());
}

}  // namespace

std::string_view TeiRootUrl(const proto::ModelConfig& config) {
  if (config.is_embedder()) {
    return "/embed";
  }
  if (!config.is_classifier()) {
    return "";
  }
  return config.num_labels == 1 ? "/rerank" : "/predict";
}

const Endpoint& TeiEmbedEndpoint() {
  static const TeiEndpoint endpoint(
      "embed", {"/embed"},
      {&FormOf(*v1::EmbeddingsResponse::descriptor(), *v1::TeiEmbedResponse::descriptor()),
       &PineconeEmbedForm()},
      RequestFormOf<v1::TeiEmbedRequest>(
          {PrepareTeiEmbed, TeiEmbedResponseBytesBound, {ModelKind::kEmbedder}}),
      RequestFormOf<v1::PineconeEmbedRequest>(kPineconeUses));
  return endpoint;
}

const Endpoint& PineconeEmbedEndpoint() {
  static const TeiEndpoint endpoint("pinecone_embed", {"/pinecone/embed"}, {&PineconeEmbedForm()},
                                    RequestFormOf<v1::PineconeEmbedRequest>(kPineconeUses));
  return endpoint;
}

const Endpoint& TeiEmbedAllEndpoint() {
  static const TeiEndpoint endpoint(
      "embed_all", {"/embed_all"}, {&FormOf(*v1::TeiEmbedAllResponse::descriptor())},
      RequestFormOf<v1::TeiEmbedAllRequest>(
          {PrepareTeiEmbedAll, TeiEmbedAllResponseBytesBound, {ModelKind::kEmbedder}}));
  return endpoint;
}

const Endpoint& TeiSimilarityEndpoint() {
  static const TeiEndpoint endpoint(
      "similarity", {"/similarity"}, {&FormOf(*v1::TeiSimilarityResponse::descriptor())},
      RequestFormOf<v1::TeiSimilarityRequest>(
          {PrepareTeiSimilarity, TeiSimilarityResponseBytesBound, {ModelKind::kEmbedder}}));
  return endpoint;
}

const Endpoint& TeiPredictEndpoint() {
  static const TeiEndpoint endpoint("predict", {"/predict"},
                                    {&FormOf(*v1::TeiPredictResponse::descriptor())},
                                    RequestFormOf<v1::TeiPredictRequest>(
                                        {PrepareTeiPredict,
                                         TeiPredictResponseBytesBound,
                                         {ModelKind::kClassifier, ModelKind::kEncoderClassifier}}));
  return endpoint;
}

}  // namespace scorecast::coordinator
