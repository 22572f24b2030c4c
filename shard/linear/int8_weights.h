#pragma once

#include <cstdint>
#include <vector>

#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// A chunk of a weight as int8, with one scale for each output. Rows are rotated as activations are
/// (Kernels::rotate), then rounded to [-127, 127].
struct Int8Chunk {
  std::vector<std::int8_t> values;    ///< [width, in]
  std::vector<float> scales;          ///< [width]
  std::vector<std::int32_t> offsets;  ///< [width]: 128 · Σ values. A product has it too much,
                                      ///< because activations have an offset of 128.
};

/// Overwrites `rows` [width, in].
Int8Chunk QuantizeChunk(const Kernels& kernels, float* rows, std::int64_t width, std::int64_t in);

}  // namespace scorecast::shard
