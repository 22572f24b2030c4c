#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coordinator/endpoints/prompt_tokens.h"
#include "coordinator/request/request_context.h"
#include "coordinator/schedule/job.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// A prompt in the form in which it is computed, with its completions.
struct PromptSequence {
  proto::PackedSequence sequence;
  std::int64_t prompt_tokens =
      0;  ///< Those of a question count once, however often it is completed.
  std::vector<Generation> generations;  ///< Of sequence 0 of a job, without chooser.
};

/// Packs a prompt, with `completions` completions of each question, or of an ordinary prompt. A 400
/// of `max_field` or of the first part with positions past the model's, if there are too many
/// positions with the completions.
proto::Expected<PromptSequence> PackPrompt(const PromptParts& parts, const PromptTokens& tokens,
                                           std::int64_t completions, const std::string& max_field,
                                           const RequestContext& context);

/// The CapacityFault of a prompt, with its field.
std::optional<proto::Error> PromptCapacityFault(const PromptSequence& prompt,
                                                const PromptParts& parts,
                                                const RequestContext& context);

}  // namespace scorecast::coordinator
