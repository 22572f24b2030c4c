#pragma once

#include <string>
#include <vector>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/prompts/sequence_layout.h"
#include "coordinator/request/request_context.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The parts of a chunked request as tokens.
struct ChunkedTokens {
  std::vector<TokenId> prefix;  ///< With BOS if it is text and the tokenizer adds one.
  std::vector<ChunkGroup> groups;
  /// Empty if the request is an ordinary prompt, which is all prefix.
  std::vector<std::vector<TokenId>> questions;
  /// The name of each question's field in the request; "prompt" for an ordinary prompt.
  std::vector<std::string> names;

  std::size_t num_chunks() const;
};

/// Splits a request that has no ChunkedFieldFault, and tokenizes each part separately. A 400 if
/// text and ids are mixed, if a question or an ordinary prompt is empty, if there are too many
/// parts, if a chunk is too long, if the groups do not add up to the chunks, or if an id is not in
/// the vocabulary. Texts that together have far too many positions, or too many tokens for the K/V
/// of this server, are not tokenized to their ends.
proto::Expected<ChunkedTokens> TokenizeChunked(const ChunkedRequest& request,
                                               ChunkPositionStrategy strategy,
                                               const RequestContext& context);

}  // namespace scorecast::coordinator
