#pragma once

#include <cstdint>

#include "shard/kernels/int8_product_kernels.h"

namespace scorecast::shard {

/// The layout of weights for kMultiplyBlocksWithAmx, which is that of the kernel sets with
/// AVX512-VNNI: Int8ProductKernels::panel and ::step.
inline constexpr std::int64_t kAmxPanel = 32;
inline constexpr std::int64_t kAmxStep = 4;
/// Fewest rows of a product for kMultiplyBlocksWithAmx: those of a tile.
inline constexpr std::int64_t kAmxRows = 16;

/// Int8ProductKernels::multiply_blocks in tiles of AMX, with the same bits, for kAmxRows rows or
/// more. The CPU must have CpuFeature::kAmxInt8 and AVX512-VNNI. Null if this build is for other
/// CPUs than x86-64.
extern void (*const kMultiplyBlocksWithAmx)(const Int8BlockProduct& product);

}  // namespace scorecast::shard
