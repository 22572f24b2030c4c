#include "coordinator/endpoints/tei/pinecone_request.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/text_readout.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/endpoints/truncation.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

struct PineconeEmbedReadout : VectorReadout {
  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::EmbeddingsResponse>();
    response->mutable_data()->Reserve(static_cast<int>(num_texts));
    const auto add = [&](std::size_t /*text*/, const std::vector<std::vector<float>>& vector) {
      response->add_data()->mutable_values()->Assign(vector.front().begin(), vector.front().end());
    };
    if (auto fault = ForEachText(rows, vectors, add)) {
      return Unexpected(*std::move(fault));
    }
    return std::make_unique<EndpointResponse>(std::move(response),
                                              v1::PineconeEmbedResponse::descriptor());
  }
};

}  // namespace

Expected<PreparedRequest> PreparePineconeEmbed(MessageRequest<v1::PineconeEmbedRequest> request,
                                               const RequestContext& context,
                                               const OnDelta& /*on_delta*/) {
  const v1::PineconeEmbedRequest& message = request.message;
  const v1::PineconeEmbedParameters& parameters = message.parameters();
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  Expected<std::optional<Truncation::Side>> cut =
      CutOf(parameters.has_truncate() ? parameters.truncate() : "END");
  if (!cut) {
    cut.error().param = "parameters.truncate";
    return Unexpected(std::move(cut).error());
  }
  TextInputs inputs = {.texts = {},
                       .field = "inputs",
                       .length = {.cut = *cut},
                       .prompt_name = Given(parameters.has_input_type(), parameters.input_type()),
                       .prompt_field = "parameters.input_type"};
  for (const std::string& text : message.inputs()) {
    inputs.texts.push_back({std::string_view(text), std::nullopt});
  }
  return PrepareVectors({.dimensions = Given(parameters.has_dimension(), parameters.dimension()),
                         .dimensions_field = "parameters.dimension",
                         .normalize = std::nullopt,
                         .bits_field = std::nullopt},
                        std::move(inputs), std::make_shared<PineconeEmbedReadout>(), context);
}

std::int64_t PineconeEmbedResponseBytesBound(
    const MessageRequest<v1::PineconeEmbedRequest>& request, const proto::ModelConfig& config) {
  return kOtherBytes + request.message.inputs_size() *
                           (2 * kListBytes + config.read_head->output_size * kNumberBytes);
}

}  // namespace scorecast::coordinator
