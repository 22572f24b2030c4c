#include "coordinator/request/chunk_packing.h"

#include <algorithm>
#include <cstdint>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::PackedSequence;
using proto::SegmentKind;
using proto::TokenId;

namespace {

void Append(SegmentKind kind, const std::vector<TokenId>& tokens, std::int32_t first_position,
            bool continues, PackedSequence& sequence) {
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  sequence.segments.push_back(
      {kind, static_cast<std::int32_t>(tokens.size()), first_position, continues});
}

}  // namespace

PackedSequence PackChunks(const std::vector<TokenId>& prefix, const std::vector<ChunkGroup>& groups,
                          const std::vector<std::vector<TokenId>>& questions,
                          ChunkPositionStrategy strategy) {
  PackedSequence sequence;
  if (!prefix.empty()) {
    Append(SegmentKind::kPrefix, prefix, 0, false, sequence);
  }
  const auto prefix_end = static_cast<std::int32_t>(prefix.size());
  std::int32_t begin = prefix_end;
  std::int32_t blocks_end = prefix_end;
  for (const ChunkGroup& group : groups) {
    std::int32_t position = begin;
    for (const std::vector<TokenId>& chunk : group) {
      if (!chunk.empty()) {
        Append(SegmentKind::kBlock, chunk, position, position > begin, sequence);
        position += static_cast<std::int32_t>(chunk.size());
      }
    }
    blocks_end = std::max(blocks_end, position);
    if (strategy == ChunkPositionStrategy::kOffset) {
      begin = position;
    }
  }
  for (const std::vector<TokenId>& question : questions) {
    proto::Check(!question.empty(), "a question has tokens");
    Append(SegmentKind::kSuffix, question, blocks_end, false, sequence);
  }
  return sequence;
}

}  // namespace scorecast::coordinator
