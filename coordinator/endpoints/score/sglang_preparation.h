#pragma once

#include <optional>

#include "coordinator/endpoints/score/score_checks.h"
#include "coordinator/endpoints/score/score_readout.h"
#include "coordinator/prompts/prompt_packer.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Packs the query and the items one after the other, with the rules of SGLang's multi-item mode:
/// the request's tokens are limited as a whole, none of them is the delimiter, and the query's row
/// is read if the response needs it. Each item sees the query and itself. An item whose tokens
/// merge with the query's is a prompt of its own, after the packed sequence. Returns the first
/// fault of the tokens.
std::optional<proto::Error> PrepareAsSglang(const CheckedScore& checked, PromptPacker& packer,
                                            ScoreReadout& readout);

}  // namespace scorecast::coordinator
