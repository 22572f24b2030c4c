#pragma once

#include <cstddef>
#include <vector>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/generate/completion_options.h"
#include "proto/model/model_config.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// The options are the same for every question, including the seed.
CompletionOptions CompletionOptionsOf(const ChunkedRequest& request,
                                      const proto::ModelConfig& config);

/// Upper bound on the tokens before a completion that affect how it is decoded. Unfinished
/// characters and rules about spaces reach back less far.
inline constexpr std::size_t kContextTokens = 16;

/// The last tokens of each question, at most kContextTokens.
std::vector<std::vector<TokenId>> QuestionContexts(const proto::PackedSequence& sequence);

}  // namespace scorecast::coordinator
