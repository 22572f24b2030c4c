#include "coordinator/endpoints/completions/chat_endpoint.h"

#include "coordinator/endpoints/completions/chat_request.h"
#include "coordinator/endpoints/message_endpoint.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

class Chat : public MessageEndpoint {
 public:
  Chat()
      : MessageEndpoint(
            "chat", {"/v1/chat/completions"},
            {&FormOf(*v1::CompletionsResponse::descriptor(), *v1::ChatCompletion::descriptor())},
            RequestFormOf<v1::ChatRequest>({PrepareChat,
                                            ChatResponseBytesBound,
                                            {ModelKind::kLanguageModel},
                                            {v1::ChatRequest::kMaxTokensFieldNumber,
                                             v1::ChatRequest::kMaxCompletionTokensFieldNumber}})) {}

  const ResponseForm& error_form() const override {
    return FormOf(*v1::Error::descriptor(), *v1::OpenAiErrorBody::descriptor());
  }
};

}  // namespace

const Endpoint& ChatEndpoint() {
  static const Chat endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
