#pragma once

#include <filesystem>

#include "proto/model/model_config.h"
#include "shard/checkpoint/checkpoint.h"

namespace scorecast::shard {

/// Opens the weights of a model: those of its directory, and those of the files that the steps of
/// its ReadHead name. In a checkpoint of a base model, whose names lack ModelConfig::base_prefix,
/// the tensors get it. The old names `gamma` and `beta` of a LayerNorm's tensors become `weight`
/// and `bias`. Throws StartupError as Checkpoint::Open does.
Checkpoint OpenCheckpoint(const std::filesystem::path& model_dir, const proto::ModelConfig& config);

}  // namespace scorecast::shard
