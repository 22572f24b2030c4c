#pragma once

#include <utility>

#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/text_sequences.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Name of the texts in vLLM's requests.
inline constexpr const char* kVllmTexts = "input";

/// The texts of a request that is like v1::PooledTextOptions.
template <typename Message>
proto::Expected<TextInputs> VllmInputs(const Message& request) {
  proto::Expected<TextLength> length =
      CheckLength(/*truncate=*/false, request.truncation_direction(),
                  Given(request.has_truncate_prompt_tokens(), request.truncate_prompt_tokens()));
  if (!length) {
    return proto::Unexpected(std::move(length).error());
  }
  return TextInputs{
      .texts = InputsOf(ViewsOf(request.input())), .field = kVllmTexts, .length = *length};
}

}  // namespace scorecast::coordinator
