#pragma once

#include <cstddef>
#include <cstdint>

#include "coordinator/doors/chunked_request.h"
#include "proto/base/expected.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// The chunked door's messages as the door-neutral types. A fault is a value that is missing where
/// a message must have one; all else PrepareChunked looks at.
proto::Expected<ChunkedRequest> ChunkedRequestFromMessage(const v1::ChunkedRequest& message);

/// No answer's ChunkedResponse to this request is longer, in bytes, but for the model's name, and
/// for texts that are longer than kTextBytesPerToken a token. With `stream`, room for the deltas
/// that wait is in it, too.
std::int64_t AnswerBytesBound(const ChunkedRequest& request);

/// A few times what a token has on average. What is longer counts when the answer is formed.
inline constexpr std::int64_t kTextBytesPerToken = 16;

/// A client's side; "stop" and "length" are the only reasons.
ChunkedResponse ChunkedResponseFromMessage(const v1::ChunkedResponse& message);

void ToMessage(const ChunkedResponse& response, v1::ChunkedResponse& message);
void ToMessage(std::size_t question, const CompletionDelta& delta, v1::ChunkedDelta& message);

}  // namespace scorecast::coordinator
