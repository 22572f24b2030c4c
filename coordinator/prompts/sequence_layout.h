#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "proto/model/token_id.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

// The segments and tokens of packed sequences. None of these functions sets reads.

/// Tokens that several sequences share.
using SharedIds = std::shared_ptr<const std::vector<proto::TokenId>>;

/// The prefix, then one block for each item at positions P, P+1, … An item without tokens gets no
/// block.
proto::PackedSequence PackItems(const SharedIds& prefix,
                                std::span<const std::vector<proto::TokenId>> items);

/// The row to read for each item in a sequence made by `PackItems`: its last row or, for an item
/// without tokens, the last row of the prefix. `prefix_length` must be at least 1.
std::vector<std::int32_t> LastRowOfEachItem(std::int32_t prefix_length,
                                            std::span<const std::vector<proto::TokenId>> items);

/// A sequence of one prefix, `prompt`. It shares the tokens of `query` that `prompt` begins or ends
/// with.
proto::PackedSequence PackPrompt(const std::vector<proto::TokenId>& prompt, const SharedIds& query);

/// A prefix, `head`, whose K/V other requests may find in the cache, and `rest` as a suffix. It
/// shares the tokens of `shared` that `rest` ends with. If `head` is empty, `rest` is the prefix.
proto::PackedSequence PackHeadAndRest(std::vector<proto::TokenId> head,
                                      const std::vector<proto::TokenId>& rest,
                                      const SharedIds& shared);

/// Positions of chunks and questions.
enum class ChunkPositionStrategy {
  kShared,  ///< Every chunk follows the system prompt; every question follows the longest chunk.
  kOffset,  ///< Each chunk follows the one before it; every question follows all chunks.
};

/// Consecutive chunks, each of which sees the earlier ones.
using ChunkGroup = std::vector<std::vector<proto::TokenId>>;

/// The prefix at positions 0 … P-1, a block for each group, and a suffix for each question. The
/// chunks of a group are segments that continue each other. A group begins at position P, or with
/// kOffset at the end of the group before it. Every question begins at P + the length of the
/// longest group, or with kOffset at the end of the last group. An empty prefix or chunk gets no
/// segment; questions must not be empty.
proto::PackedSequence PackChunks(const std::vector<proto::TokenId>& prefix,
                                 const std::vector<ChunkGroup>& groups,
                                 const std::vector<std::vector<proto::TokenId>>& questions,
                                 ChunkPositionStrategy strategy);

}  // namespace scorecast::coordinator
