#include "coordinator/endpoints/tei/similarity_request.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/tei/text_options.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"
#include "proto/base/count.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

constexpr const char* kSource = "inputs.source_sentence";
constexpr const char* kSentences = "inputs.sentences";

/// The first row is that of the source sentence.
struct TeiSimilarityReadout : Readout {
  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::TeiSimilarityResponse>();
    const std::vector<float>& source = rows[0].front().embedding;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const double one = SimilarityOf(similarity, source, rows[i].front().embedding);
      if (!std::isfinite(one)) {
        return Unexpected(NotFinite(At(kSentences, i - 1)));
      }
      response->add_similarities(one);
    }
    return std::make_unique<EndpointResponse>(std::move(response));
  }
  std::string Summary() const override { return proto::Count(Items(), "sentence"); }
  std::int64_t Items() const override { return num_sentences; }

  Similarity similarity = Similarity::kCosine;
  std::int64_t num_sentences = 0;
};

}  // namespace

Expected<PreparedRequest> PrepareTeiSimilarity(MessageRequest<v1::TeiSimilarityRequest> request,
                                               const RequestContext& context,
                                               const OnDelta& /*on_delta*/) {
  const v1::TeiSimilarityRequest& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  const v1::TeiSimilarityInputs& inputs = message.inputs();
  std::vector<TextInput> sentences;
  for (const std::string& sentence : inputs.sentences()) {
    sentences.push_back({std::string_view(sentence), std::nullopt});
  }
  const auto sequences_of = [&](TextInputs texts) -> Expected<TextSequences> {
    Expected<TextInputs> checked = WithTeiOptions(message.parameters(), std::move(texts), context);
    if (!checked) {
      return Unexpected(std::move(checked).error());
    }
    checked->length.cut_field = "parameters.truncate";
    return MakeTextSequences(*checked, context);
  };
  Expected<TextSequences> source = sequences_of(
      {.texts = {{std::string_view(inputs.source_sentence()), std::nullopt}}, .field = kSource});
  if (!source) {
    return Unexpected(std::move(source).error());
  }
  Expected<TextSequences> others =
      sequences_of({.texts = std::move(sentences), .field = kSentences});
  if (!others) {
    return Unexpected(std::move(others).error());
  }
  auto readout = std::make_shared<TeiSimilarityReadout>();
  readout->similarity = context.options.embedder.similarity;
  readout->num_sentences = static_cast<std::int64_t>(others->sequences.size());
  readout->prompt_tokens = source->prompt_tokens + others->prompt_tokens;
  std::vector<proto::PackedSequence> sequences = std::move(source->sequences);
  for (proto::PackedSequence& sequence : others->sequences) {
    sequences.push_back(std::move(sequence));
  }
  return PreparedRequest{
      .sequences = std::move(sequences), .generations = {}, .readout = std::move(readout)};
}

std::int64_t TeiSimilarityResponseBytesBound(
    const MessageRequest<v1::TeiSimilarityRequest>& request, const proto::ModelConfig& config) {
  const std::int64_t sentences = request.message.inputs().sentences_size();
  return kOtherBytes + sentences * kNumberBytes + (sentences + 1) * EmbeddingBytes(config);
}

}  // namespace scorecast::coordinator
