#include "coordinator/endpoints/rerank/rerank_endpoint.h"

#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/endpoints/rerank/rerank_request.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

class Rerank : public MessageEndpoint {
 public:
  Rerank()
      : MessageEndpoint(
            "rerank", {"/v1/rerank", "/rerank", "/v2/rerank"},
            {&FormOf(*v1::RerankResponse::descriptor(), *v1::CohereRerankResponse::descriptor()),
             &FormOf(*v1::RerankResponse::descriptor(), *v1::TeiRerankResponse::descriptor()),
             &FormOf(*v1::RerankResponse::descriptor(), *v1::SglangRerankResponse::descriptor())},
            RequestFormOf<v1::RerankRequest>({PrepareRerank, RerankResponseBytesBound}),
            RequestFormOf<v1::RerankRequest>({PrepareRerank, RerankResponseBytesBound},
                                             "TeiRerankRequest")) {}

  const ResponseForm& error_form() const override {
    return FormOf(*v1::Error::descriptor(), *v1::RerankErrorBody::descriptor());
  }
};

}  // namespace

const Endpoint& RerankEndpoint() {
  static const Rerank endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
