#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "proto/model/partition.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/activations.h"
#include "shard/linear/gemm_backend.h"
#include "shard/linear/precision.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Each thread's buffer for products, from which an epilogue takes them; small enough to stay in
/// the thread's cache.
class TileScratch {
 public:
  explicit TileScratch(int threads) : threads_(threads) {}

  /// Makes room for `tiles` tiles of up to this many columns.
  void Reserve(std::int64_t columns, std::int64_t tiles = 1);
  void Touch(ThreadPool& pool);
  float* Of(int thread) { return tiles_.data() + thread * kMostTileRows * columns_; }

 private:
  std::int64_t threads_;
  std::int64_t columns_ = 0;    // Of all tiles together.
  AlignedBuffer<float> tiles_;  // [threads][kMostTileRows][columns]
};

/// A part of a product that has just been computed. The epilogue may overwrite it.
struct ProductTile {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;  ///< Without padding.
  proto::Range columns;   ///< The outputs that the tile covers: whole groups of one chunk.
  float* data = nullptr;  ///< [rows][columns.size()]

  float* Row(std::int64_t row) const { return data + (row - first_row) * columns.size(); }
};

/// y = x · Wᵀ for this rank's part of a weight. A product is divided into tasks: panels of rows
/// times ranges of outputs, both as even as possible. Neither changes a bit.
///
/// The inputs may be cut into blocks. The product of each block is then rounded to float32 by
/// itself, and products are added up in float32, in an order that the caller chooses.
class Linear {
 public:
  /// `source` may have no outputs or no inputs, because a rank may own nothing of a layer.
  Linear(GemmBackend& backend, Precision precision, const WeightSource& source, ThreadPool& pool,
         TileScratch& scratch);
  /// The sources of each block of inputs, which have the same chunks, and the step after each. The
  /// kernels must outlive this object.
  Linear(GemmBackend& backend, Precision precision, const std::vector<WeightSource>& blocks,
         std::vector<BlockStep> steps, const Kernels& kernels, ThreadPool& pool,
         TileScratch& scratch);

  std::int64_t out_features() const { return starts_.back(); }
  std::int64_t chunks() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  /// The chunk that has this output.
  std::int64_t ChunkOf(std::int64_t output) const {
    return std::ranges::upper_bound(starts_, output) - starts_.begin() - 1;
  }

  /// Computes the outputs of some chunks for rows [0, rows) of x and passes them, tile by tile and
  /// on any thread, to epilogue(const ProductTile&). x has room for RoundUpRows(rows) rows. If
  /// there is nothing to sum (in = 0), the products are zero.
  template <typename Epilogue>
  void Forward(const Activations& x, std::int64_t rows, proto::Range chunks, ThreadPool& pool,
               const Epilogue& epilogue) const {
    ForEachTile(rows, chunks, pool, [&](Panel panel, const Columns& columns, int thread) {
      const ProductTile tile = TileOf(panel, columns, scratch_->Of(thread));
      Multiply(x, 0, columns, tile, thread);
      epilogue(tile);
    });
  }
  template <typename Epilogue>
  void Forward(const Activations& x, std::int64_t rows, ThreadPool& pool,
               const Epilogue& epilogue) const {
    Forward(x, rows, {0, chunks()}, pool, epilogue);
  }
  /// The same for all outputs of a weight in blocks, whose results are passed to
  /// epilogue(const ProductTile&, int number).
  template <typename Epilogue>
  void ForwardBlocks(const BlockActivations& x, std::int64_t rows, ThreadPool& pool,
                     const Epilogue& epilogue) const {
    ForEachTile(rows, {0, chunks()}, pool, [&](Panel panel, const Columns& columns, int thread) {
      ProductTile top = TileOf(panel, columns, scratch_->Of(thread));
      if (together_ != nullptr) {
        together_->Multiply(x, panel.first_row, panel.rows, columns.chunk, columns.range, top.data);
        for (int number = 0; number < results_; ++number, top.data += SizeOf(top)) {
          epilogue(top, number);
        }
        return;
      }
      int results = 0;
      for (std::size_t block = 0; block < steps_.size(); ++block) {
        Multiply(x.Block(static_cast<std::int64_t>(block)), block, columns, top, thread);
        top = Join(steps_[block].joins, top);
        if (steps_[block].is_result) {
          epilogue(top, results++);
        } else {
          top.data += SizeOf(top);
        }
      }
    });
  }

 private:
  void PackBlocks(GemmBackend& backend, Precision precision, std::span<const WeightSource> blocks,
                  ThreadPool& pool);
  /// The most tiles that are in the scratch memory at once.
  std::int64_t MostTiles() const;
  /// Outputs that are computed together if a weight has this granule.
  static std::int64_t GroupOf(std::int64_t group, std::int64_t granule);

  struct Cut {
    std::int64_t panels = 0;
    std::int64_t height = 0;  ///< Rows of a panel; the last one may be lower.
    std::int64_t parts = 0;
    std::int64_t part_groups = 0;  ///< Groups of a part; the last one may be narrower.
    proto::Range groups;           ///< All groups of the product.

    proto::Range Part(std::int64_t part) const {
      const std::int64_t begin = groups.begin + part * part_groups;
      return {begin, std::min(begin + part_groups, groups.end)};
    }
  };
  struct Panel {
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
  };
  /// Outputs of one chunk, counted from its first.
  struct Columns {
    std::int64_t chunk = 0;
    proto::Range range;
  };

  /// Divides a product into enough tasks for all threads, but none that is too small to be worth
  /// starting.
  Cut CutProduct(std::int64_t rows, proto::Range chunks, int threads) const;
  /// Calls body(panel, columns, thread) for each tile of a product, on any thread.
  template <typename Body>
  void ForEachTile(std::int64_t rows, proto::Range chunks, ThreadPool& pool,
                   const Body& body) const {
    const Cut cut = CutProduct(rows, chunks, pool.threads());
    pool.ParallelFor(cut.panels * cut.parts, [&](std::int64_t task, int thread) {
      // Tasks are ordered by part of the weight, so that a thread uses one part for all rows.
      const std::int64_t row = task % cut.panels * cut.height;
      const Panel panel = {row, std::min(cut.height, rows - row)};
      proto::Range groups = cut.Part(task / cut.panels);
      while (groups.size() > 0) {
        body(panel, TakeFromOneChunk(groups), thread);
      }
    });
  }
  /// Removes from the front of `groups` all groups of the first group's chunk. Returns their
  /// outputs.
  Columns TakeFromOneChunk(proto::Range& groups) const;
  /// A tile at `data`.
  ProductTile TileOf(Panel panel, const Columns& columns, float* data) const;
  /// Numbers for which a tile has room: those of its rows and of their padding.
  static std::int64_t SizeOf(const ProductTile& tile) {
    return RoundUpRows(tile.rows) * tile.columns.size();
  }
  /// Writes the product of a block of inputs to a tile.
  void Multiply(const Activations& x, std::size_t block, const Columns& columns,
                const ProductTile& tile, int thread) const;
  /// Replaces the two tiles on top of a stack by their sum, `joins` times. Returns the top.
  ProductTile Join(int joins, ProductTile top) const;

  std::int64_t in_ = 0;                     // Of all blocks.
  std::vector<std::int64_t> starts_;        // [chunks + 1]: the first output of each chunk, then
                                            // the number of outputs.
  std::int64_t group_ = 1;                  // Outputs that are computed together.
  std::vector<std::int64_t> first_groups_;  // [chunks + 1]: the first group of each chunk, then the
                                            // number of groups.
  TileScratch* scratch_;
  // [blocks]. Null if this rank owns nothing.
  std::vector<std::unique_ptr<PackedWeight>> weights_;
  std::unique_ptr<PackedBlocks> together_;  // In place of the weights, unless null.
  std::vector<BlockStep> steps_;            // [blocks]
  int results_ = 0;                         // Of the steps.
  const Kernels* kernels_ = nullptr;        // Null if there is one block.
};

/// How and with what weights are packed.
struct Packing {
  GemmBackend& backend;
  Precision precision;
  ThreadPool& pool;
  TileScratch& scratch;
  const Kernels& kernels;
};

/// Number of outputs of one chunk of a weight: wide enough for a library to run well, narrow enough
/// that a small layer still makes several tasks.
inline constexpr std::int64_t kChunkOutputs = 256;

/// Widths of the chunks that `outputs` outputs are cut into: `width` each, then the remainder. A
/// remainder too narrow to be worth a product joins the chunk before it.
std::vector<std::int64_t> Chunks(std::int64_t outputs, std::int64_t width);

/// Bytes of a packed weight [out, in] whose numbers take `weight_size` bytes each (see
/// BackendEntry::WeightSize), without the padding that a library's layout may have. Its inputs are
/// cut into `blocks`.
std::int64_t PackedBytes(Precision precision, std::int64_t weight_size, std::int64_t out,
                         std::int64_t in, std::int64_t blocks = 1);

}  // namespace scorecast::shard
