#include "coordinator/endpoints/chunked/chunked_endpoint.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/endpoints/message_endpoint.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

class Chunked : public MessageEndpoint {
 public:
  Chunked()
      : MessageEndpoint("chunked", {"/v1/chunked"}, {&FormOf(*v1::ChunkedResponse::descriptor())},
                        RequestFormOf<v1::ChunkedRequest>(
                            {PrepareChunked,
                             ChunkedResponseBytesBound,
                             {ModelKind::kLanguageModel, ModelKind::kClassifier}})) {}

  std::unique_ptr<EndpointResponse> Delta(std::size_t output,
                                          const CompletionDelta& delta) const override {
    auto message = std::make_unique<v1::ChunkedDelta>();
    message->set_question(static_cast<std::uint32_t>(output));
    message->set_text(delta.text);
    message->mutable_token_ids()->Assign(delta.token_ids.begin(), delta.token_ids.end());
    if (delta.finish_reason) {
      message->set_finish_reason(Name(*delta.finish_reason));
    }
    return std::make_unique<EndpointResponse>(std::move(message));
  }
};

}  // namespace

const Endpoint& ChunkedEndpoint() {
  static const Chunked endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
