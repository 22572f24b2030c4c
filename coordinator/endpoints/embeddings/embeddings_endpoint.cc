#include "coordinator/endpoints/embeddings/embeddings_endpoint.h"

#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/endpoints/embeddings/embeddings_request.h"
#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/json/response_writer.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

template <typename Description>
const ResponseForm* FormAs() {
  return &FormOf(*v1::EmbeddingsResponse::descriptor(), *Description::descriptor());
}

const MessageRequest<v1::EmbeddingsRequest>::Uses kEmbeddingsUses = {
    PrepareEmbeddings, EmbeddingsResponseBytesBound, {ModelKind::kEmbedder}};

class Embeddings : public MessageEndpoint {
 public:
  /// `form` is the name of a form of the message.
  Embeddings(std::string_view name, std::vector<std::string_view> urls, std::string_view form,
             const ResponseForm& error_form)
      : MessageEndpoint(name, std::move(urls),
                        {FormAs<v1::OpenAiEmbeddingsResponse>(), FormAs<v1::OpenAiBase64Response>(),
                         FormAs<v1::JinaBinaryResponse>()},
                        RequestFormOf<v1::EmbeddingsRequest>(kEmbeddingsUses, form)),
        error_form_(error_form) {}

  const ResponseForm& error_form() const override { return error_form_; }

 private:
  const ResponseForm& error_form_;
};

}  // namespace

const Endpoint& EmbeddingsEndpoint() {
  static const Embeddings endpoint("embeddings", {"/v1/embeddings", "/embeddings"},
                                   "EmbeddingsRequest", OpenAiErrorForm());
  return endpoint;
}

const Endpoint& VoyageEmbeddingsEndpoint() {
  // Voyage's client shows `detail`, and fails on an `error` that is an object.
  static const Embeddings endpoint("voyage_embeddings", {"/voyage/v1/embeddings"},
                                   "VoyageEmbeddingsRequest", UrlErrorForm());
  return endpoint;
}

}  // namespace scorecast::coordinator
