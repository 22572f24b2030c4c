#include "coordinator/endpoints/cohere/embed_endpoints.h"

#include "coordinator/endpoints/cohere/embed_request.h"
#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/json/response_writer.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

class CohereEndpoint : public MessageEndpoint {
 public:
  using MessageEndpoint::MessageEndpoint;

  const ResponseForm& error_form() const override { return UrlErrorForm(); }
};

const MessageRequest<v1::CohereEmbedRequest>::Uses kCohereUses = {
    PrepareCohereEmbed, CohereEmbedResponseBytesBound, {ModelKind::kEmbedder}};

const ResponseForm& CohereByTypeForm() {
  return FormOf(*v1::CohereEmbeddings::descriptor(), *v1::CohereEmbeddingsByType::descriptor());
}

}  // namespace

const Endpoint& CohereV1EmbedEndpoint() {
  static const CohereEndpoint endpoint(
      "cohere_embed_v1", {"/v1/embed"},
      {&FormOf(*v1::CohereEmbeddings::descriptor(), *v1::CohereEmbeddingsFloats::descriptor()),
       &CohereByTypeForm()},
      RequestFormOf<v1::CohereEmbedRequest>(kCohereUses, "CohereV1EmbedRequest"));
  return endpoint;
}

const Endpoint& CohereV2EmbedEndpoint() {
  static const CohereEndpoint endpoint("cohere_embed", {"/v2/embed"}, {&CohereByTypeForm()},
                                       RequestFormOf<v1::CohereEmbedRequest>(kCohereUses));
  return endpoint;
}

}  // namespace scorecast::coordinator
