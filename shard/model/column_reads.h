#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/mpi/communicator.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/exchange/column_exchange.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// How ranks get their columns of the weights whose rows are too narrow to skip the others' columns
/// (kMergedGap).
enum class ColumnReads : std::uint8_t {
  kByEachRank,  ///< Each rank reads these weights as a whole.
  kExchanged,   ///< Each rank reads some rows, and gets its columns of the others: ColumnExchange.
};

/// The weights of a layer that are split by columns and that at least one rank would read as a
/// whole. The same on every rank.
std::vector<ColumnSplit> ColumnSplits(const Checkpoint& checkpoint,
                                      const proto::ModelConfig& config, std::int64_t layer,
                                      int ranks, proto::Sharding sharding = proto::Sharding::kEven);

/// What the parts of loading a model take, in seconds of the slowest rank or host.
struct LoadTimes {
  double by_each_rank = 0;  ///< Every host reads all ColumnSplits as a whole.
  double own_rows = 0;      ///< Every host reads the rows of its ranks only.
  double others = 0;        ///< Every host reads its part of all other weights.
  double messages = 0;      ///< The ranks send one another their columns.
  double packing = 0;       ///< The ranks pack what was read.
};

/// The way that is chosen, and for the log what decided.
struct ColumnChoice {
  ColumnReads reads = ColumnReads::kByEachRank;
  std::string reason;
};

/// Exchanges if that takes less time. The system reads ahead while a rank packs weights or waits
/// for messages, so the longer one of these decides.
ColumnChoice FasterReads(const LoadTimes& times);

/// Measures reading and sending on small samples, and chooses the way that seems faster. Ranks of
/// one host read by themselves, because they share what they read; so do all if there is little to
/// read. Collective; the same on every rank. Throws StartupError, on every rank, if one of them
/// cannot read.
ColumnChoice ChooseColumnReads(const proto::Communicator& group, const Checkpoint& checkpoint,
                               const proto::ModelConfig& config, proto::Sharding sharding,
                               ColumnExchange& exchange, ThreadPool& pool);

}  // namespace scorecast::shard
