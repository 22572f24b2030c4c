#pragma once

#include <string>
#include <vector>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/request/chunk_packing.h"
#include "coordinator/request/request_context.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The parts of a chunked request as tokens.
struct ChunkedTokens {
  std::vector<TokenId> prefix;  ///< With BOS if it begins a text.
  std::vector<ChunkGroup> groups;
  /// Empty if the request is an ordinary prompt, which is all prefix.
  std::vector<std::vector<TokenId>> questions;
  /// The fields of the questions in the request; that of an ordinary prompt is "prompt".
  std::vector<std::string> names;

  bool is_plain() const { return questions.empty(); }
  std::size_t num_chunks() const;
};

/// Splits a request whose fields have no fault, and tokenizes each part by itself. A 400 if text
/// and ids are mixed, a part is missing, too long or one too many, the groups do not add up to the
/// chunks, or an id is not in the vocabulary.
proto::Expected<ChunkedTokens> TokenizeChunked(const ChunkedRequest& request,
                                               const RequestContext& context);

}  // namespace scorecast::coordinator
