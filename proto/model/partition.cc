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

Range DealGrains(std::int64_t count, int rank, int size) {
  const Range grains = Deal((count + kPartitionGrain - 1) / kPartitionGrain, rank, size);
  return {std::min(grains.begin * kPartitionGrain, count),
          std::min(grains.end * kPartitionGrain, count)};
}

}  // namespace

Partition MakePartition(const ModelConfig& config, int rank, int size) {
  Check(0 <= rank && rank < size, "a rank lies within its group");
  if (size > config.num_attention_heads) {
    throw StartupError("cannot split " + Count(config.num_attention_heads, "query head") +
                       " over " + Count(size, "rank") +
                       ": start at most as many ranks as the model has query heads");
  }
  Partition partition;
  partition.heads = Deal(config.num_attention_heads, rank, size);
  const std::int64_t group = config.num_query_groups();
  partition.kv_heads = {partition.heads.begin / group, (partition.heads.end - 1) / group + 1};
  partition.intermediate = DealGrains(config.intermediate_size, rank, size);
  partition.vocabulary = DealGrains(config.output_size(), rank, size);
  partition.columns = DealGrains(config.hidden_size, rank, size);
  return partition;
}

}  // namespace scorecast::proto
