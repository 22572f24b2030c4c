#pragma once

#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/checkpoint/read_ahead.h"
#include "shard/model/column_reads.h"

namespace scorecast::shard {

/// The parts of the checkpoint that a rank reads to make its Transformer: one entry for each layer,
/// and a last one for the tensors outside of the layers. Embeddings are included only if the
/// lm-head is tied to them; otherwise only passes read their rows. Throws StartupError if the
/// checkpoint does not fit the configuration.
std::vector<std::vector<FilePart>> WeightSlices(const Checkpoint& checkpoint,
                                                const proto::ModelConfig& config, int rank,
                                                int ranks, ColumnReads reads,
                                                proto::Sharding sharding = proto::Sharding::kEven);

}  // namespace scorecast::shard
