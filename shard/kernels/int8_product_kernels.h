#pragma once

#include <cstddef>
#include <cstdint>

namespace scorecast::shard {

/// Largest number of rows in one Int8Product.
inline constexpr std::int64_t kMostInt8Rows = 128;
/// Largest number of inputs. Σ (x - 128) · w always fits into int32, because x - 128 and w are at
/// most 127. Σ x · w may wrap around, and wraps back when the offset 128 · Σ w is subtracted.
inline constexpr std::int64_t kDeepestInt8 = std::int64_t{1} << 17;
static_assert(kDeepestInt8 * 127 * 128 < std::int64_t{1} << 31);
/// Bytes that a product may use while it runs.
inline constexpr std::int64_t kInt8Scratch = 160 * 1024;

/// y[row][column] = (Σ x · w - offset) · (row_scale · scale) for some columns of one chunk of a
/// weight. The sum is exact.
struct Int8Product {
  const std::uint8_t* x = nullptr;    ///< [rows][in], dense.
  const float* row_scales = nullptr;  ///< [rows]
  std::int64_t rows = 0;              ///< At least 1, at most kMostInt8Rows.
  std::int64_t in = 0;                ///< At least 1, at most kDeepestInt8.

  const std::int8_t* packed = nullptr;  ///< The chunk.
  const float* scales = nullptr;  ///< One for each output of the chunk, padded to whole panels.
  const std::int32_t* offsets = nullptr;  ///< As many as scales.
  std::int64_t width = 0;                 ///< Outputs of the chunk, without padding.

  std::int64_t begin = 0;  ///< The first column; a multiple of Int8ProductKernels::panel.
  std::int64_t columns = 0;
  float* y = nullptr;            ///< [rows][columns], dense.
  std::byte* scratch = nullptr;  ///< [kInt8Scratch]; begins at a multiple of 64 bytes.
};

/// Most products of blocks that may wait for others.
inline constexpr std::int64_t kMostWaitingBlocks = 16;

/// A block of inputs in an Int8BlockProduct.
struct Int8Block {
  const std::uint8_t* x = nullptr;    ///< [rows][in], dense.
  const float* row_scales = nullptr;  ///< [rows]
  std::int64_t in = 0;                ///< A multiple of Int8ProductKernels::step.
  /// The block's weights of the first panel, as Int8ProductKernels::pack packs them.
  const std::int8_t* packed = nullptr;
  const float* scales = nullptr;          ///< One for each column, padded to whole panels.
  const std::int32_t* offsets = nullptr;  ///< As many as scales.
  int joins = 0;  ///< Number of products that wait and are added to this one, the last first.
  bool is_result = false;  ///< The sum is written to a result. Otherwise, it waits.
};

/// The products of blocks of inputs, and sums of them. Both are in float32.
template <typename Block>
struct BlockProduct {
  const Block* blocks = nullptr;
  std::int64_t count = 0;
  std::int64_t panel_bytes = 0;  ///< Distance between a block's weights of two panels.
  std::int64_t rows = 0;         ///< At least 1.
  std::int64_t columns = 0;
  float* y = nullptr;  ///< [results][result_size], of which [rows][columns] are written.
  std::int64_t result_size = 0;
};

/// A product has the bits that an Int8Product of its block would have. At most kMostInt8Rows rows.
using Int8BlockProduct = BlockProduct<Int8Block>;

/// Products of activations in bytes and weights in int8. Nothing outside of the arrays is read or
/// written.
struct Int8ProductKernels {
  std::int64_t panel;  ///< Outputs that lie side by side in the packed layout.
  std::int64_t step;   ///< Inputs of one output that lie side by side.
  /// Packs a chunk, dense [width][in], into [width rounded up to `panel`][in rounded up to `step`]
  /// bytes.
  void (*pack)(const std::int8_t* rows, std::int64_t width, std::int64_t in, std::int8_t* packed);
  void (*multiply)(const Int8Product& product);
  /// Null if the CPU has no instruction that adds up products of bytes.
  void (*multiply_blocks)(const Int8BlockProduct& product);
};

}  // namespace scorecast::shard
