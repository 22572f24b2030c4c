#include "coordinator/endpoints/completions/completions_endpoint.h"

#include "coordinator/endpoints/completions/completions_request.h"
#include "coordinator/endpoints/message_endpoint.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

class Completions : public MessageEndpoint {
 public:
  Completions()
      : MessageEndpoint(
            "completions", {"/v1/completions"},
            {&FormOf(*v1::CompletionsResponse::descriptor(), *v1::TextCompletion::descriptor())},
            RequestFormOf<v1::CompletionsRequest>(
                {PrepareCompletions,
                 CompletionsResponseBytesBound,
                 {ModelKind::kLanguageModel},
                 {v1::CompletionsRequest::kMaxTokensFieldNumber}})) {}

  const ResponseForm& error_form() const override {
    return FormOf(*v1::Error::descriptor(), *v1::OpenAiErrorBody::descriptor());
  }
};

}  // namespace

const Endpoint& CompletionsEndpoint() {
  static const Completions endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
