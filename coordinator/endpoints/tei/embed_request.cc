#include "coordinator/endpoints/tei/embed_request.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/tei/floats_readout.h"
#include "coordinator/endpoints/tei/text_options.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/text_readout.h"
#include "coordinator/endpoints/text_sequences.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

struct TeiEmbedAllReadout : VectorReadout {
  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::TeiEmbedAllResponse>();
    const auto add = [&](std::size_t /*text*/, const std::vector<std::vector<float>>& of_tokens) {
      response->add_counts(static_cast<std::int64_t>(of_tokens.size()));
      for (const std::vector<float>& vector : of_tokens) {
        response->add_tokens()->mutable_values()->Assign(vector.begin(), vector.end());
      }
    };
    if (auto fault = ForEachText(rows, vectors, add)) {
      return Unexpected(*std::move(fault));
    }
    return std::make_unique<EndpointResponse>(std::move(response));
  }
};

}  // namespace

Expected<PreparedRequest> PrepareTeiEmbed(MessageRequest<v1::TeiEmbedRequest> request,
                                          const RequestContext& context,
                                          const OnDelta& /*on_delta*/) {
  const v1::TeiEmbedRequest& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  Expected<TextInputs> inputs = WithTeiOptions(
      message, {.texts = InputsOf(ViewsOf(message.inputs())), .field = "inputs"}, context);
  if (!inputs) {
    return Unexpected(std::move(inputs).error());
  }
  return PrepareVectors({.dimensions = Given(message.has_dimensions(), message.dimensions()),
                         .normalize = message.normalize()},
                        *std::move(inputs),
                        std::make_shared<FloatsReadout>(*v1::TeiEmbedResponse::descriptor()),
                        context);
}

std::int64_t TeiEmbedResponseBytesBound(const MessageRequest<v1::TeiEmbedRequest>& request,
                                        const proto::ModelConfig& config) {
  return kOtherBytes +
         request.message.inputs_size() * (kListBytes + config.output_size() * kNumberBytes);
}

Expected<PreparedRequest> PrepareTeiEmbedAll(MessageRequest<v1::TeiEmbedAllRequest> request,
                                             const RequestContext& context,
                                             const OnDelta& /*on_delta*/) {
  const v1::TeiEmbedAllRequest& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<TextInputs> inputs = WithTeiOptions(
      message,
      {.texts = InputsOf(ViewsOf(message.inputs())), .field = "inputs", .reads_all_rows = true},
      context);
  if (!inputs) {
    return Unexpected(inputs.error());
  }
  auto readout = std::make_shared<TeiEmbedAllReadout>();
  readout->vectors = {.size = context.config.hidden_size, .field = inputs->field};
  return PrepareTexts(*inputs, std::move(readout), context);
}

std::int64_t TeiEmbedAllResponseBytesBound(const MessageRequest<v1::TeiEmbedAllRequest>& request,
                                           const proto::ModelConfig& config) {
  return kOtherBytes + request.message.inputs_size() * (kListBytes + kNumberBytes) +
         RowsBound(InputsOf(ViewsOf(request.message.inputs())), config) *
             (kListBytes + config.hidden_size * kNumberBytes);
}

}  // namespace scorecast::coordinator
