#pragma once

#include <optional>

#include "coordinator/endpoints/generation_fields.h"
#include "coordinator/generate/token_adjustments.h"
#include "coordinator/request/request_context.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

// The fields that change the logits of some tokens.

/// The 400 of a field out of range, or of too many words.
std::optional<proto::Error> AdjustmentFault(const GenerationFields& fields);

/// What they say together. A 400 if there is no such token, if a word is no text or has no token,
/// or if all tokens may be forbidden at the same time.
proto::Expected<TokenAdjustments> AdjustmentsOf(const GenerationFields& fields,
                                                const RequestContext& context);

}  // namespace scorecast::coordinator
