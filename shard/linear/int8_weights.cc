#include "shard/linear/int8_weights.h"

namespace scorecast::shard {

Int8Chunk QuantizeChunk(const Kernels& kernels, float* rows, std::int64_t width, std::int64_t in) {
  Int8Chunk chunk;
  chunk.values.resize(static_cast<std::size_t>(width * in));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(in));
  for (std::int64_t row = 0; row < width; ++row) {
    kernels.rotate(rows + row * in, in);
    chunk.scales.push_back(kernels.quantize(rows + row * in, in, bytes.data()));
    std::int8_t* to = chunk.values.data() + row * in;
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < in; ++i) {
      const int value = int{bytes[static_cast<std::size_t>(i)]} - 128;
      to[i] = static_cast<std::int8_t>(value);
      sum += value;
    }
    chunk.offsets.push_back(128 * sum);
  }
  return chunk;
}

}  // namespace scorecast::shard
