#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/mpi/communicator.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/exchange/column_exchange.h"
#include "shard/linear/linear.h"
#include "shard/model/column_reads.h"
#include "shard/model/layer.h"

namespace scorecast::shard {

/// Called after each layer is loaded, with the number of layers loaded so far and of all layers. It
/// may throw.
using LoadProgress = std::function<void(std::int64_t done, std::int64_t layers)>;

/// Reads and packs this rank's part of all layers. After each layer the ranks agree that none of
/// them has failed. Collective; the checkpoint fits the configuration (CheckTensors). Throws
/// StartupError, on every rank, if one of them fails.
std::vector<Layer> LoadLayers(const proto::Communicator& group, const proto::ModelConfig& config,
                              const Checkpoint& checkpoint, const Packing& packing,
                              proto::Sharding sharding, ColumnReads reads, ColumnExchange& exchange,
                              const LoadProgress& progress);

}  // namespace scorecast::shard
