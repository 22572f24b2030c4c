#pragma once

#include <string>
#include <vector>

#include "coordinator/request/chunk_packing.h"
#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/request/request_context.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The parts of a chunked request as tokens.
struct ChunkedTokens {
  std::vector<TokenId> prefix;  ///< With BOS where it begins a text.
  std::vector<ChunkGroup> groups;
  /// Not empty, unless the request is an ordinary prompt, which is all prefix.
  std::vector<std::vector<TokenId>> questions;
  /// Of the questions in the request; an ordinary prompt's is "prompt".
  std::vector<std::string> names;

  bool is_plain() const { return questions.empty(); }
  std::size_t num_chunks() const;
};

/// Takes a request apart whose fields have no fault, and tokenizes each part by itself. 400 where
/// text and ids are mixed, a part is not there, is too long or is one too many, the groups do not
/// hold the chunks, or an id is not in the vocabulary.
proto::Expected<ChunkedTokens> TokenizeChunked(const ChunkedRequest& request,
                                               const RequestContext& context);

}  // namespace scorecast::coordinator
