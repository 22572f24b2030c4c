#pragma once

#include <optional>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/endpoints/generation_fields.h"
#include "coordinator/request/request_context.h"
#include "coordinator/request/score_kind.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// The first fault of a chunked request that can be found without splitting its prompt: a value out
/// of range, or fields that exclude each other. `fields` are its own, and `kind` is that of the
/// scores.
std::optional<proto::Error> ChunkedFieldFault(const ChunkedRequest& request,
                                              const GenerationFields& fields, ScoreKind kind,
                                              const RequestContext& context);

}  // namespace scorecast::coordinator
