#include "shard/linear/packing.h"

namespace scorecast::shard {

std::vector<std::int64_t> Chunks(std::int64_t outputs, std::int64_t width) {
  constexpr std::int64_t kNarrow = 16;
  std::vector<std::int64_t> chunks(static_cast<std::size_t>(outputs / width), width);
  const std::int64_t rest = outputs % width;
  if (rest > 0 && rest < kNarrow && !chunks.empty()) {
    chunks.back() += rest;
  } else if (rest > 0) {
    chunks.push_back(rest);
  }
  return chunks;
}

}  // namespace scorecast::shard
