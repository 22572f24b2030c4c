#include "coordinator/endpoints/embeddings/embeddings_endpoint.h"

#include "coordinator/endpoints/embeddings/embeddings_request.h"
#include "coordinator/endpoints/message_endpoint.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

template <typename Description>
const ResponseForm* FormAs() {
  return &FormOf(*v1::EmbeddingsResponse::descriptor(), *Description::descriptor());
}

class Embeddings : public MessageEndpoint {
 public:
  Embeddings()
      : MessageEndpoint(
            "embeddings", {"/v1/embeddings", "/embeddings"},
            {FormAs<v1::OpenAiEmbeddingsResponse>(), FormAs<v1::OpenAiBase64Response>(),
             FormAs<v1::JinaBinaryResponse>()},
            RequestFormOf<v1::EmbeddingsRequest>(
                {PrepareEmbeddings, EmbeddingsResponseBytesBound, {ModelKind::kEmbedder}})) {}

  const ResponseForm& error_form() const override {
    return FormOf(*v1::Error::descriptor(), *v1::OpenAiErrorBody::descriptor());
  }
};

}  // namespace

const Endpoint& EmbeddingsEndpoint() {
  static const Embeddings endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
