#pragma once

#include <optional>

#include "coordinator/request/chunk_options.h"
#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/request/request_context.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// What is wrong with a chunked request and can be seen without taking its prompt apart: values out
/// of range, fields that exclude each other.
std::optional<proto::Error> ChunkedFieldFault(const ChunkedRequest& request,
                                              const RequestContext& context);

/// The request's own, or the server's; 400 for any other word.
proto::Expected<ChunkPositionStrategy> PositionStrategy(const ChunkedRequest& request,
                                                        const ChunkOptions& options);

}  // namespace scorecast::coordinator
