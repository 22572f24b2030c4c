#pragma once

#include <cstdint>
#include <string>

namespace scorecast::coordinator {

/// Where chunks and questions stand.
enum class ChunkPositionStrategy {
  kShared,  ///< Every chunk begins behind the system prompt, every question behind the longest one.
  kOffset,  ///< Chunks stand behind each other, every question behind all of them.
};

/// What this server makes of documents: the flags of the chunked door.
struct ChunkOptions {
  bool enable_chunk_aware = false;  ///< Texts with separators are taken apart.
  std::string separator = " # # ";  ///< Valid UTF-8, not empty.
  ChunkPositionStrategy position_strategy = ChunkPositionStrategy::kShared;
  std::int64_t max_chunk_len = 8192;  ///< Tokens of one chunk.
};

}  // namespace scorecast::coordinator
