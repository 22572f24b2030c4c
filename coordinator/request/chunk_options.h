#pragma once

#include <cstdint>
#include <string>

namespace scorecast::coordinator {

/// Positions of chunks and questions.
enum class ChunkPositionStrategy {
  kShared,  ///< Every chunk follows the system prompt; every question follows the longest chunk.
  kOffset,  ///< Each chunk follows the one before it; every question follows all chunks.
};

/// How this server reads chunked prompts.
struct ChunkOptions {
  bool enable_chunk_aware = false;  ///< Split texts at separators.
  std::string separator = " # # ";  ///< Valid UTF-8, not empty.
  ChunkPositionStrategy position_strategy = ChunkPositionStrategy::kShared;
  std::int64_t max_chunk_len = 8192;  ///< In tokens.
};

}  // namespace scorecast::coordinator
