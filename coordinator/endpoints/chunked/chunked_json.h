#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/generate/completion_generator.h"
#include "coordinator/json/json_text.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Reads the body of /v1/chunked: see BodyReader.
proto::Expected<ChunkedRequest> ChunkedRequestFromJson(const nlohmann::json& body);

/// {"object":"chunked.delta","question":…,"text":…,"token_ids":…}, and `finish_reason` in the last
/// delta of a question.
OrderedJson ChunkedDeltaToJson(std::size_t question, const CompletionDelta& delta);

}  // namespace scorecast::coordinator
