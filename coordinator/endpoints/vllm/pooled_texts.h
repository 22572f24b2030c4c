#pragma once

#include <utility>

#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/request/request_context.h"

namespace scorecast::coordinator {

/// Name of the texts in vLLM's requests.
inline constexpr const char* kVllmTexts = "input";

/// The sequences of a request that is like v1::PooledTextOptions. Of `inputs`, the texts and their
/// length are not set.
template <typename Message>
proto::Expected<TextSequences> MakeVllmSequences(const Message& request, TextInputs inputs,
                                                 const RequestContext& context) {
  proto::Expected<TextLength> length =
      CheckLength(/*truncate=*/false, request.truncation_direction(),
                  Given(request.has_truncate_prompt_tokens(), request.truncate_prompt_tokens()));
  if (!length) {
    return proto::Unexpected(std::move(length).error());
  }
  inputs.texts = InputsOf(ViewsOf(request.input()));
  inputs.field = kVllmTexts;
  inputs.length = *length;
  return MakeTextSequences(inputs, context);
}

}  // namespace scorecast::coordinator
