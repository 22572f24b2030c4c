#include "proto/model/partition.h"

#include <algorithm>
#include <string>

#include "proto/base/check.h"
#include "proto/base/count.h"
#include "proto/base/error.h"

namespace scorecast::proto {
namespace {

/// The contiguous share of `rank` in `count` units. The first ranks get one more if `count` is not
/// a multiple of `size`.
Range Deal(std::int64_t count, int rank, int size) {
  const std::int64_t share = count / size;
  const std::int64_t extra = count % size;
  const std::int64_t begin = rank * share + std::min<std::int64_t>(rank, extra);
  return {begin, begin + share + (rank < extra ? 1 : 0)};
}

/// One block.
Blocks OneBlock(Range range, int rank) { return {{range.begin, range.end}, rank}; }

/// Cuts `count` units into `blocks` blocks that are as even as possible. Of equally many blocks,
/// the first ones have the most units. Unit u begins at u · unit, and the last one ends at `end`.
Blocks CutEvenly(std::int64_t count, std::int64_t blocks, std::int64_t unit, std::int64_t end) {
  Blocks all;
  for (std::int64_t block = 1; block < blocks; ++block) {
    all.borders.push_back((block * count + blocks - 1) / blocks * unit);
  }
  all.borders.push_back(end);
  return all;
}

/// The number of blocks of a dimension that is not one of heads: 12, 16, 24, 32, 48, …, the first
/// that is not below the number of heads. Halves, quarters and eighths of them are even. Thirds and
/// sixths are about as even as those of the heads.
std::int64_t BlocksFor(const ModelConfig& config, std::int64_t units) {
  std::int64_t blocks = 12;
  while (blocks < config.num_attention_heads) {
    blocks += blocks % 3 == 0 ? blocks / 3 : blocks / 2;
  }
  return std::min(blocks, units);
}

/// The blocks of a rank. `all` are those of all ranks.
Blocks DealBlocks(const Blocks& all, int rank, int size) {
  Range node = all.numbers();
  for (; size % 2 == 0; size /= 2) {
    const std::int64_t half = HalfOf(node);
    (rank < size / 2 ? node.end : node.begin) = half;
    rank %= size / 2;
  }
  const Range dealt = Deal(node.size(), rank, size);
  const Range own = {node.begin + dealt.begin, node.begin + dealt.end};
  return {{all.borders.begin() + own.begin, all.borders.begin() + own.end + 1}, own.begin};
}

Range DealGrains(std::int64_t count, int rank, int size) {
  const Range grains = Deal((count + kPartitionGrain - 1) / kPartitionGrain, rank, size);
  return {std::min(grains.begin * kPartitionGrain, count),
          std::min(grains.end * kPartitionGrain, count)};
}

}  // namespace

Blocks AllIntermediateBlocks(const ModelConfig& config) {
  // Rotations of int8 are as long as the largest power of two that divides a block, and tiles of
  // AMX have 64 bytes of a row. Blocks of three grains and more are about even.
  constexpr std::int64_t kWideGrains[] = {64, 32};
  constexpr std::int64_t kGrainsOfBlock = 3;
  const std::int64_t columns = config.intermediate_size;
  std::int64_t grain = kPartitionGrain;
  for (const std::int64_t wide : kWideGrains) {
    const std::int64_t grains = columns / wide;
    if (grains >= kGrainsOfBlock * BlocksFor(config, grains)) {
      grain = wide;
      break;
    }
  }
  const std::int64_t grains = (columns + grain - 1) / grain;
  return CutEvenly(grains, BlocksFor(config, grains), grain, columns);
}

Blocks AllVocabularyBlocks(const ModelConfig& config) {
  // A remainder that is no chunk of a product of its own belongs to the last grain.
  const std::int64_t outputs = config.output_size();
  const std::int64_t rest = outputs % kVocabularyGrain;
  const std::int64_t grains =
      std::max<std::int64_t>(outputs / kVocabularyGrain + (rest >= kPartitionGrain ? 1 : 0), 1);
  return CutEvenly(grains, BlocksFor(config, grains), kVocabularyGrain, outputs);
}

Partition MakePartition(const ModelConfig& config, int rank, int size, Sharding sharding) {
  Check(0 <= rank && rank < size, "a rank lies within its group");
  if (size > config.num_attention_heads) {
    throw StartupError("cannot split " + Count(config.num_attention_heads, "query head") +
                       " over " + Count(size, "rank") +
                       ": start at most as many ranks as the model has query heads");
  }
  const std::int64_t heads = config.num_attention_heads;
  Partition partition;
  partition.sharding = sharding;
  partition.columns = DealGrains(config.hidden_size, rank, size);
  if (sharding == Sharding::kInBlocks) {
    partition.head_blocks = DealBlocks(CutEvenly(heads, heads, 1, heads), rank, size);
    partition.intermediate_blocks = DealBlocks(AllIntermediateBlocks(config), rank, size);
    partition.vocabulary_blocks = DealBlocks(AllVocabularyBlocks(config), rank, size);
  } else {
    partition.head_blocks = OneBlock(Deal(heads, rank, size), rank);
    partition.intermediate_blocks =
        OneBlock(DealGrains(config.intermediate_size, rank, size), rank);
    partition.vocabulary_blocks = OneBlock(DealGrains(config.output_size(), rank, size), rank);
  }
  partition.heads = partition.head_blocks.range();
  const std::int64_t group = config.num_query_groups();
  partition.kv_heads = {partition.heads.begin / group, (partition.heads.end - 1) / group + 1};
  partition.intermediate = partition.intermediate_blocks.range();
  partition.vocabulary = partition.vocabulary_blocks.range();
  return partition;
}

}  // namespace scorecast::proto
