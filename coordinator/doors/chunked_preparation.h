#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "coordinator/doors/chunked_request.h"
#include "coordinator/doors/door_values.h"
#include "coordinator/doors/request_context.h"
#include "coordinator/doors/row_scores.h"
#include "coordinator/generate/completion_options.h"
#include "coordinator/schedule/job.h"
#include "proto/base/expected.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// How the rows and answers that come back become the response.
struct ChunkedReadout {
  /// The questions' names in the request: "question", "questions[1]", "prompt".
  std::vector<std::string> questions;
  std::size_t num_chunks = 0;
  bool reads_rows = false;  ///< One for each question, for `row`.
  RowReadout row;
  std::string model;
  Usage usage;
};

/// A request that nothing but a machine's failure or a broken checkpoint can refuse any more.
struct PreparedChunked {
  proto::PackedSequence sequence;
  /// One for each question where an answer is wanted; their `chooser` is still to be made.
  std::vector<Generation> generations;
  /// The last tokens before each answer, at most kContextTokens.
  std::vector<std::vector<TokenId>> contexts;
  CompletionOptions answer;  ///< The same for all questions, the seed too.
  ChunkedReadout readout;
};

/// More than what an unfinished character, or a rule about spaces, reaches back.
inline constexpr std::size_t kContextTokens = 16;

/// Takes apart, checks, tokenizes and packs a request. Every fault a request can have is found here
/// (or before, by the door that read it): 400 with the field and its index.
proto::Expected<PreparedChunked> PrepareChunked(const ChunkedRequest& request,
                                                const RequestContext& context);

}  // namespace scorecast::coordinator
