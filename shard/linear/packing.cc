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

std::int64_t PackedBytes(Precision precision, std::int64_t weight_size, std::int64_t out,
                         std::int64_t in) {
  // Int8Chunk has a scale and an offset for each output.
  constexpr auto kScaleAndOffset = static_cast<std::int64_t>(sizeof(float) + sizeof(std::int32_t));
  const bool has_scales = precision == Precision::kInt8 && in > 0;
  return out * (in * weight_size + (has_scales ? kScaleAndOffset : 0));
}

}  // namespace scorecast::shard
