#pragma once

#include <vector>

#include "coordinator/request/chunk_options.h"
#include "proto/model/token_id.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// Consecutive chunks, each of which sees the earlier ones.
using ChunkGroup = std::vector<std::vector<proto::TokenId>>;

/// Returns a sequence with the prefix at positions 0 … P-1, a block for each group, and a suffix
/// for each question. The chunks of a group are segments that continue each other. A group begins
/// at position P, or with kOffset at the end of the group before it. Every question begins at P +
/// the length of the longest group, or with kOffset at the end of the last group. An empty prefix
/// or chunk gets no segment; questions must not be empty. No reads are set.
proto::PackedSequence PackChunks(const std::vector<proto::TokenId>& prefix,
                                 const std::vector<ChunkGroup>& groups,
                                 const std::vector<std::vector<proto::TokenId>>& questions,
                                 ChunkPositionStrategy strategy);

}  // namespace scorecast::coordinator
