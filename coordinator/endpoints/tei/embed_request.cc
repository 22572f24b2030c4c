#include "coordinator/endpoints/tei/embed_request.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/embedding_vectors.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/tei/text_options.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/request/request_error.h"
#include "proto/base/count.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

struct TeiEmbedReadout : Readout {
  EmbeddingVectors vectors;
  std::size_t num_texts = 0;

  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::EmbeddingsResponse>();
    response->mutable_data()->Reserve(static_cast<int>(num_texts));
    for (std::size_t i = 0; i < num_texts; ++i) {
      Expected<std::vector<float>> vector = vectors.Of(rows[i].front(), i);
      if (!vector) {
        return Unexpected(std::move(vector).error());
      }
      response->add_data()->mutable_values()->Assign(vector->begin(), vector->end());
    }
    return std::make_unique<EndpointResponse>(std::move(response),
                                              v1::TeiEmbedResponse::descriptor());
  }
  std::string Summary() const override { return proto::Count(num_texts, "text"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(num_texts); }
};

struct TeiEmbedAllReadout : Readout {
  EmbeddingVectors vectors;
  std::size_t num_texts = 0;

  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::TeiEmbedAllResponse>();
    for (std::size_t i = 0; i < num_texts; ++i) {
      response->add_counts(static_cast<std::int64_t>(rows[i].size()));
      for (const proto::RowLogits& row : rows[i]) {
        Expected<std::vector<float>> vector = vectors.Of(row, i);
        if (!vector) {
          return Unexpected(std::move(vector).error());
        }
        response->add_tokens()->mutable_values()->Assign(vector->begin(), vector->end());
      }
    }
    return std::make_unique<EndpointResponse>(std::move(response));
  }
  std::string Summary() const override { return proto::Count(num_texts, "text"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(num_texts); }
};

}  // namespace

Expected<PreparedRequest> PrepareTeiEmbed(MessageRequest<v1::TeiEmbedRequest> request,
                                          const RequestContext& context,
                                          const OnDelta& /*on_delta*/) {
  const v1::TeiEmbedRequest& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  Expected<EmbeddingVectors> vectors =
      CheckVectors(Given(message.has_dimensions(), message.dimensions()), message.normalize(),
                   "dimensions", context.config);
  if (!vectors) {
    return Unexpected(std::move(vectors).error());
  }
  Expected<TextSequences> made = MakeTeiSequences(message,
                                                  {.texts = InputsOf(ViewsOf(message.inputs())),
                                                   .field = "inputs",
                                                   .keeps_length = vectors->keeps_length},
                                                  context);
  if (!made) {
    return Unexpected(std::move(made).error());
  }
  auto readout = std::make_shared<TeiEmbedReadout>();
  readout->vectors = *std::move(vectors);
  readout->vectors.field = "inputs";
  readout->num_texts = made->sequences.size();
  readout->prompt_tokens = made->prompt_tokens;
  return PreparedRequest{
      .sequences = std::move(made->sequences), .generations = {}, .readout = std::move(readout)};
}

std::int64_t TeiEmbedResponseBytesBound(const MessageRequest<v1::TeiEmbedRequest>& request,
                                        const proto::ModelConfig& config) {
  return kOtherBytes + request.message.inputs_size() *
                           (kListBytes + config.read_head->output_size * kNumberBytes);
}

Expected<PreparedRequest> PrepareTeiEmbedAll(MessageRequest<v1::TeiEmbedAllRequest> request,
                                             const RequestContext& context,
                                             const OnDelta& /*on_delta*/) {
  const v1::TeiEmbedAllRequest& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  Expected<TextSequences> made = MakeTeiSequences(
      message,
      {.texts = InputsOf(ViewsOf(message.inputs())), .field = "inputs", .reads_all_rows = true},
      context);
  if (!made) {
    return Unexpected(std::move(made).error());
  }
  auto readout = std::make_shared<TeiEmbedAllReadout>();
  readout->vectors.size = context.config.hidden_size;
  readout->vectors.field = "inputs";
  readout->num_texts = made->sequences.size();
  readout->prompt_tokens = made->prompt_tokens;
  return PreparedRequest{
      .sequences = std::move(made->sequences), .generations = {}, .readout = std::move(readout)};
}

std::int64_t TeiEmbedAllResponseBytesBound(const MessageRequest<v1::TeiEmbedAllRequest>& request,
                                           const proto::ModelConfig& config) {
  return kOtherBytes + request.message.inputs_size() * (kListBytes + kNumberBytes) +
         RowsBound(InputsOf(ViewsOf(request.message.inputs())), config) *
             (kListBytes + config.hidden_size * kNumberBytes);
}

}  // namespace scorecast::coordinator
