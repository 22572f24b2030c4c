#pragma once

#include <string>

#include "coordinator/endpoints/chunked/chunked_response.h"
#include "coordinator/endpoints/value_messages.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

inline FinishReason FinishReasonOf(const std::string& name) {
  return name == Name(FinishReason::kStop) ? FinishReason::kStop : FinishReason::kLength;
}

/// A client's side. "stop" and "length" are the only reasons.
inline ChunkedResponse ChunkedResponseFromMessage(const v1::ChunkedResponse& message) {
  ChunkedResponse response;
  response.model = message.model();
  if (message.scores_size() > 0) {
    response.scores = RowsOf(message.scores());
  }
  if (message.outputs_size() > 0) {
    response.outputs.emplace();
    for (const v1::ChunkedOutput& output : message.outputs()) {
      response.outputs->push_back({output.text(),
                                   {output.token_ids().begin(), output.token_ids().end()},
                                   FinishReasonOf(output.finish_reason())});
    }
  }
  if (message.has_seed()) {
    response.seed = message.seed();
  }
  if (message.token_logprobs_size() > 0) {
    response.token_logprobs = RowsOf(message.token_logprobs());
  }
  if (message.top_logprobs_size() > 0) {
    response.top_logprobs = TopLogprobsOf(message.top_logprobs());
  }
  response.usage = UsageOf(message.usage());
  response.timings = TimingsOf(message.timings());
  return response;
}

}  // namespace scorecast::coordinator
