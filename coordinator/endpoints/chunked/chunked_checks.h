#pragma once

#include <optional>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/request/chunk_options.h"
#include "coordinator/request/request_context.h"
#include "coordinator/request/score_kind.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The first fault of a chunked request that can be found without splitting its prompt: a value out
/// of range, or fields that exclude each other. `kind` is that of the scores.
std::optional<proto::Error> ChunkedFieldFault(const ChunkedRequest& request, ScoreKind kind,
                                              const RequestContext& context);

/// The strategy that the request names, or the server's if it names none. A 400 for an unknown
/// name.
proto::Expected<ChunkPositionStrategy> PositionStrategy(const v1::ChunkedRequest& request,
                                                        const ChunkOptions& options);

}  // namespace scorecast::coordinator
