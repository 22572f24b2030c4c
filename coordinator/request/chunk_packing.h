#pragma once

#include <vector>

#include "coordinator/request/chunk_options.h"
#include "proto/model/model_config.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// Consecutive chunks, each of which sees the earlier ones.
using ChunkGroup = std::vector<std::vector<proto::TokenId>>;

/// The prefix at positions 0 … P-1, a block for each group, and a suffix for each question. A
/// group's chunks are segments that continue each other; positions run on inside it, from P on, or
/// with kOffset from the end of the group before it. Every question begins at P + the longest
/// group's length, with kOffset at the end of the last group. Nothing empty gets a segment;
/// questions are not empty. No reads are set.
proto::PackedSequence PackChunks(const std::vector<proto::TokenId>& prefix,
                                 const std::vector<ChunkGroup>& groups,
                                 const std::vector<std::vector<proto::TokenId>>& questions,
                                 ChunkPositionStrategy strategy);

}  // namespace scorecast::coordinator
