#pragma once

#include <optional>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/request/chunk_options.h"
#include "coordinator/request/request_context.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The first fault of a chunked request that shows without splitting its prompt: a value out of
/// range, or fields that exclude each other.
std::optional<proto::Error> ChunkedFieldFault(const ChunkedRequest& request,
                                              const RequestContext& context);

/// The strategy of the request, or that of the server. A 400 for any other word.
proto::Expected<ChunkPositionStrategy> PositionStrategy(const ChunkedRequest& request,
                                                        const ChunkOptions& options);

}  // namespace scorecast::coordinator
