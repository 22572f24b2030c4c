#pragma once

#include <utility>

#include "coordinator/endpoints/text_sequences.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// text-embeddings-inference's code for a text that is too long and must not be cut.
inline constexpr int kTeiTooLongCode = 413;

/// Texts as the fields `truncate`, `truncation_direction` and `prompt_name` of `options` want them.
/// Of `inputs`, length and prompt are not set.
template <typename Message>
proto::Expected<TextInputs> WithTeiOptions(const Message& options, TextInputs inputs,
                                           const RequestContext& context) {
  proto::Expected<TextLength> length = CheckLength(
      options.truncate(), Given(options.has_truncation_direction(), options.truncation_direction()),
      context);
  if (!length) {
    return proto::Unexpected(std::move(length).error());
  }
  length->too_long_code = kTeiTooLongCode;
  inputs.length = *length;
  inputs.prompt_field = "prompt_name";
  if constexpr (requires { options.prompt_name(); }) {
    inputs.prompt_name = Given(options.has_prompt_name(), options.prompt_name());
  }
  return inputs;
}

}  // namespace scorecast::coordinator
