#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/base/range.h"
#include "proto/model/model_config.h"

namespace scorecast::proto {

/// How a model is divided among ranks.
enum class Sharding : std::uint8_t {
  kEven,  ///< Every rank holds an even share, which is one block.
  /// Every rank holds whole blocks, whose borders follow from the model's shape alone. What is
  /// computed of a block therefore does not depend on the number of ranks. See `--rank-invariant`.
  kInBlocks,
};

/// The consecutive blocks of a dimension that one rank holds.
struct Blocks {
  std::vector<std::int64_t> borders = {0};  ///< [blocks + 1]: places in the dimension.
  std::int64_t first = 0;                   ///< Number of the first one among those of all ranks.

  std::int64_t size() const { return static_cast<std::int64_t>(borders.size()) - 1; }
  /// Numbers of the blocks among those of all ranks.
  Range numbers() const { return {first, first + size()}; }
  /// The part of the dimension that the blocks cover.
  Range range() const { return {borders.front(), borders.back()}; }
  /// Block number `i` of this rank.
  Range operator[](std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    return {borders[at], borders[at + 1]};
  }
  bool operator==(const Blocks&) const = default;
};

/// The part of the model that one rank of a tensor-parallel group holds. Every rank can compute the
/// part of every other rank.
struct Partition {
  Sharding sharding = Sharding::kEven;
  Range heads;         ///< Query heads; never empty.
  Range kv_heads;      ///< K/V heads that `heads` use; neighbour ranks may share one.
  Range intermediate;  ///< Columns of gate and up, rows of down; may be empty.
  Range vocabulary;    ///< Rows of the lm-head, or of a classifier's head; may be empty.
  Range columns;       ///< Columns of rows that are pooled; may be empty.
  // Blocks of three of the ranges.
  Blocks head_blocks;
  Blocks intermediate_blocks;
  Blocks vocabulary_blocks;

  bool operator==(const Partition&) const = default;
};

/// Intermediate and vocabulary ranges begin at multiples of this, so that kernels work on whole
/// vectors.
inline constexpr std::int64_t kPartitionGrain = 16;

/// Blocks of the vocabulary begin at multiples of this: a product's chunks, and the ranges whose
/// exponentials are added up, do, too.
inline constexpr std::int64_t kVocabularyGrain = 256;

/// The part of rank `rank`. Each rank gets a contiguous range of query heads, and of grains of the
/// intermediate and the vocabulary dimension. If their number is not a multiple of `size`, the
/// first ranks get one more. Throws StartupError if `size` is larger than the number of query
/// heads.
///
/// In blocks, ranks get ranges of blocks instead: see Blocks. A block of heads is one query head.
/// The other dimensions have at least as many blocks, if they are large enough, and a multiple of
/// three, so that 3 and 6 ranks have even shares, too. Blocks are halved (HalfOf) as often as the
/// number of ranks is even, and then dealt out. So if that number is a power of two, the blocks of
/// each rank are a node of the tree whose nodes are halved down to single blocks.
Partition MakePartition(const ModelConfig& config, int rank, int size,
                        Sharding sharding = Sharding::kEven);

/// The blocks of a dimension of a model that is divided in blocks, as if one rank held all.
Blocks AllIntermediateBlocks(const ModelConfig& config);
Blocks AllVocabularyBlocks(const ModelConfig& config);

/// Where a node of the tree over blocks is halved. The first half has one more block if their
/// number is odd.
constexpr std::int64_t HalfOf(Range blocks) { return (blocks.begin + blocks.end + 1) / 2; }

}  // namespace scorecast::proto
