#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "proto/model/partition.h"
#include "shard/checkpoint/tensor_view.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/activations.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Largest number of rows in one call of PackedWeight::Multiply.
inline constexpr std::int64_t kMostTileRows = 128;

/// Source of a weight W [out, in], read in chunks of outputs.
struct WeightSource {
  std::vector<std::int64_t> widths;  ///< Number of outputs of each chunk; they add up to `out`.
  /// Number of outputs of a chunk that an epilogue needs at the same time, e.g. those of a head.
  /// The last group of a chunk may be narrower.
  std::int64_t group = 1;
  std::int64_t in = 0;
  /// Whether these inputs are a block of those of the whole weight, of which all ranks hold some:
  /// its bits are those that it has beside other blocks.
  bool is_block = false;
  /// Widths of chunks that other ranks have of this weight. A library that computes chunks of these
  /// widths otherwise than those of this rank must not be used.
  std::vector<std::int64_t> other_widths;
  /// The narrowest type that is known, from the types in the checkpoint, to hold every number that
  /// `read` gives. A backend may keep the numbers in this type without rounding them.
  Dtype stored = Dtype::kF32;
  /// Writes the rows of W that form one chunk: [width, in]. Called from several threads.
  std::function<void(std::int64_t chunk, float* rows)> read;
};

/// PackedWeight::column_granule() of a weight whose chunks cannot be divided.
inline constexpr std::int64_t kWholeChunk = std::numeric_limits<std::int64_t>::max();

/// A weight in its backend's layout.
class PackedWeight {
 public:
  virtual ~PackedWeight() = default;

  /// Multiply computes parts of a chunk that begin at a multiple of this many outputs, and end at
  /// such a multiple or at the end of the chunk.
  virtual std::int64_t column_granule() const = 0;

  /// y[0 … rows, columns.size()] = x[first_row … first_row + rows, in] · Wᵀ for outputs `columns`
  /// of one chunk, counted from the chunk's first; y is dense. At most kMostTileRows rows; x and y
  /// have room for RoundUpRows(rows). An output's bits depend on its row of x and its row of W
  /// alone. Runs on the calling thread; `thread` is its number in the pool.
  virtual void Multiply(const Activations& x, std::int64_t first_row, std::int64_t rows,
                        std::int64_t chunk, proto::Range columns, float* y, int thread) const = 0;
};

/// What follows the product of a block of inputs in a sum over blocks. Sums are computed with a
/// stack: see SumTree::JoinsAfter.
struct BlockStep {
  int joins = 0;          ///< How often the two products on top are replaced by their sum.
  bool is_result = true;  ///< The only product that is left then is a result.
};

/// A weight whose inputs are cut into blocks, the products of which are computed together.
class PackedBlocks {
 public:
  virtual ~PackedBlocks() = default;

  /// As PackedWeight::column_granule.
  virtual std::int64_t column_granule() const = 0;

  /// As PackedWeight::Multiply, for each block, and adds the products up as the steps say. Their
  /// results follow each other in y, RoundUpRows(rows) · columns.size() numbers apart.
  virtual void Multiply(const BlockActivations& x, std::int64_t first_row, std::int64_t rows,
                        std::int64_t chunk, proto::Range columns, float* y) const = 0;
};

/// Buffers with which one thread packs a weight: the rows as read, and the rows in 16 bits. They
/// are reused from chunk to chunk, because new memory pages for each chunk would cost more.
struct PackScratch {
  PackScratch(const WeightSource& source, bool narrows);

  AlignedBuffer<float> rows;            // [widest chunk, in]
  AlignedBuffer<std::uint16_t> narrow;  // [widest chunk, in]; empty unless `narrows`
};

/// Reads all chunks of weights whose chunks have the same widths, on all threads of the pool. Calls
/// `pack` with the number of the weight, that of the chunk, and the buffers that have its rows.
void ReadChunks(
    std::span<const WeightSource> weights, bool narrows, ThreadPool& pool,
    const std::function<void(std::size_t weight, std::size_t chunk, PackScratch& scratch)>& pack);

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

/// Numbers in [-1, 1) for self-checks. Sums of them use every bit; otherwise their values do not
/// matter.
std::vector<float> SampleNumbers(std::int64_t count);

/// A library that multiplies matrices.
class GemmBackend {
 public:
  virtual ~GemmBackend() = default;

  /// Reads and packs a weight chunk by chunk, on all threads of the pool.
  virtual std::unique_ptr<PackedWeight> Pack(Precision precision, const WeightSource& source,
                                             ThreadPool& pool) = 0;

  /// The same for a weight whose inputs are cut into blocks, with the step after each block. Null
  /// if it is not faster to compute all blocks together than each by itself. Which of the two it is
  /// does not depend on the blocks that a rank has.
  virtual std::unique_ptr<PackedBlocks> PackBlocks(Precision /*precision*/,
                                                   std::span<const WeightSource> /*blocks*/,
                                                   std::span<const BlockStep> /*steps*/,
                                                   ThreadPool& /*pool*/) {
    return nullptr;
  }

  /// The name of the kernel that computes products of this precision. The log shows it after the
  /// library's name: e.g. "SkylakeX".
  virtual std::string Description(Precision precision) const = 0;

  /// For the log: the numbers of rows that one call of that kernel computes, ascending. If they
  /// differ among the packed shapes: the numbers of the shape with the lowest maximum. Empty if
  /// nothing is packed.
  virtual std::vector<std::int64_t> Heights(Precision precision) const = 0;
};

}  // namespace scorecast::shard
