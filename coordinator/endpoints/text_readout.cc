#include "coordinator/endpoints/text_readout.h"

#include "proto/base/count.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

std::string TextReadout::Summary() const { return proto::Count(num_texts, "text"); }

Expected<PreparedRequest> PrepareTexts(const TextInputs& inputs,
                                       std::shared_ptr<TextReadout> readout,
                                       const RequestContext& context) {
  Expected<TextSequences> made = MakeTextSequences(inputs, context);
  if (!made) {
    return Unexpected(std::move(made).error());
  }
  readout->num_texts = made->sequences.size();
  readout->prompt_tokens = made->prompt_tokens;
  return PreparedRequest{
      .sequences = std::move(made->sequences), .generations = {}, .readout = std::move(readout)};
}

Expected<PreparedRequest> PrepareVectors(const VectorOptions& options, TextInputs inputs,
                                         std::shared_ptr<VectorReadout> readout,
                                         const RequestContext& context) {
  Expected<EmbeddingVectors> vectors = CheckVectors(options, context.config);
  if (!vectors) {
    return Unexpected(std::move(vectors).error());
  }
  readout->vectors = *std::move(vectors);
  readout->vectors.field = inputs.field;
  inputs.keeps_length = readout->vectors.keeps_length;
  return PrepareTexts(inputs, std::move(readout), context);
}

}  // namespace scorecast::coordinator
