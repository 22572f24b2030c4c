#include "coordinator/endpoints/tei/pinecone_request.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/tei/floats_readout.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/endpoints/truncation.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

Expected<PreparedRequest> PreparePineconeEmbed(MessageRequest<v1::PineconeEmbedRequest> request,
                                               const RequestContext& context,
                                               const OnDelta& /*on_delta*/) {
  const v1::PineconeEmbedRequest& message = request.message;
  const v1::PineconeEmbedParameters& parameters = message.parameters();
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  const std::string cut_field = "parameters.truncate";
  const Expected<std::optional<Truncation::Side>> cut =
      CutOf(parameters.has_truncate() ? parameters.truncate() : "END", cut_field);
  if (!cut) {
    return Unexpected(cut.error());
  }
  TextInputs inputs = {.texts = {},
                       .field = "inputs",
                       .length = {.cut = *cut, .cut_field = cut_field},
                       .prompt_name = Given(parameters.has_input_type(), parameters.input_type()),
                       .prompt_field = "parameters.input_type"};
  for (const std::string& text : message.inputs()) {
    inputs.texts.push_back({std::string_view(text), std::nullopt});
  }
  return PrepareVectors({.dimensions = Given(parameters.has_dimension(), parameters.dimension()),
                         .dimensions_field = "parameters.dimension",
                         .normalize = std::nullopt,
                         .bits_field = std::nullopt},
                        std::move(inputs),
                        std::make_shared<FloatsReadout>(*v1::PineconeEmbedResponse::descriptor()),
                        context);
}

std::int64_t PineconeEmbedResponseBytesBound(
    const MessageRequest<v1::PineconeEmbedRequest>& request, const proto::ModelConfig& config) {
  return kOtherBytes +
         request.message.inputs_size() * (2 * kListBytes + config.output_size() * kNumberBytes);
}

}  // namespace scorecast::coordinator
