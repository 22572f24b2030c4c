#pragma once

#include <cstdint>
#include <string>

#include "coordinator/prompts/sequence_layout.h"

namespace scorecast::coordinator {

/// How this server reads chunked prompts.
struct ChunkOptions {
  bool enable_chunk_aware = false;  ///< Split texts at separators.
  std::string separator = " # # ";  ///< Valid UTF-8, not empty.
  ChunkPositionStrategy position_strategy = ChunkPositionStrategy::kShared;
  std::int64_t max_chunk_len = 8192;  ///< In tokens.
};

}  // namespace scorecast::coordinator
