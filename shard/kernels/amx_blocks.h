#pragma once

#include <cstdint>

#include "shard/kernels/int8_product_kernels.h"

namespace scorecast::shard {

/// The layout of weights for products by AMX. Panels of kAmxPanel outputs have steps of kAmxStep
/// bytes of inputs; in each, the weights of the first output, of the second, and so on. The kernel
/// sets with AVX512-VNNI have the same layout (Int8ProductKernels::panel and ::step).
inline constexpr std::int64_t kAmxPanel = 32;
inline constexpr std::int64_t kAmxStep = 4;
/// Fewest rows of a product by AMX: those of a tile.
inline constexpr std::int64_t kAmxRows = 16;

/// Int8ProductKernels::multiply_blocks in tiles of AMX, with the same bits, for kAmxRows rows or
/// more. The CPU must have CpuFeature::kAmxInt8 and AVX512-VNNI. Null if this build is for other
/// CPUs than x86-64.
extern void (*const kMultiplyInt8BlocksWithAmx)(const Int8BlockProduct& product);

/// A block of inputs in a Bf16BlockProduct.
struct Bf16Block {
  const std::uint16_t* x = nullptr;       ///< [rows][in], dense.
  std::int64_t in = 0;                    ///< A multiple of two.
  const std::uint16_t* packed = nullptr;  ///< The block's weights of the first panel.
  int joins = 0;  ///< Number of products that wait and are added to this one, the last first.
  bool is_result = false;  ///< The sum is written to a result. Otherwise, it waits.
};

/// A product is one chain of tdpbf16ps, from the first input to the last. At least kAmxRows rows.
using Bf16BlockProduct = BlockProduct<Bf16Block>;

/// The CPU must have CpuFeature::kAmxBf16 and AVX-512. Null if this build is for other CPUs than
/// x86-64.
extern void (*const kMultiplyBf16BlocksWithAmx)(const Bf16BlockProduct& product);

}  // namespace scorecast::shard
