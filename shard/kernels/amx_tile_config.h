#pragma once

#include <cstdint>

namespace scorecast::shard {

/// The operand of ldtilecfg: eight tiles of 16 rows of 64 bytes. It has to be a static constant,
/// because GCC 12 takes that instruction to read 8 bytes only, and leaves out stores of the others.
struct alignas(64) AmxTileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(AmxTileConfig) == 64);

}  // namespace scorecast::shard
