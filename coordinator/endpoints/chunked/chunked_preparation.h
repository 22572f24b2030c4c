#pragma once

#include <cstddef>
#include <vector>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/generate/completion_options.h"
#include "proto/model/model_config.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// The same for every question, the seed too.
CompletionOptions CompletionOptionsOf(const ChunkedRequest& request,
                                      const proto::ModelConfig& config);

/// More than an unfinished character, or a rule about spaces, reaches back.
inline constexpr std::size_t kContextTokens = 16;

/// The last tokens of each question, at most kContextTokens.
std::vector<std::vector<TokenId>> QuestionContexts(const proto::PackedSequence& sequence);

}  // namespace scorecast::coordinator
