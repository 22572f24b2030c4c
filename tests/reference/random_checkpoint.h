#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/token_id.h"

namespace scorecast::reference {

enum class StoredDtype { kF32, kBf16 };

struct RandomCheckpoint {
  proto::ModelConfig config;  ///< `architecture` and `dtype` are unused.
  std::uint64_t seed = 0;     ///< Equal seeds and shapes give equal weights.
  StoredDtype dtype = StoredDtype::kF32;
  int shards = 1;  ///< More than one: model-0000i-of-0000n.safetensors and an index.
  /// Factor by which channel 0 of the layers' norms and channel 1 of the embeddings are larger than
  /// the other channels, and the columns that read them smaller. Real models have such channels.
  double outliers = 1;
  bool head_bias = false;  ///< A classifier's head has a bias.
};

/// Writes the weights into `model_dir`, which must exist. They are large enough that attention is
/// far from uniform and that a wrong position, head or mask shows in the second digit (the rule of
/// tests/golden/make/families.py).
void WriteRandomWeights(const std::filesystem::path& model_dir, const RandomCheckpoint& checkpoint);

/// Writes config.json, for the families llama, qwen2 and qwen3, and the weights. Throws
/// std::invalid_argument for other families, and for options that no config.json of the family can
/// express.
void WriteRandomCheckpoint(const std::filesystem::path& model_dir,
                           const RandomCheckpoint& checkpoint);

/// A tiny configuration to start from: 2 layers, 6 query and 2 K/V heads, untied. `model_type` sets
/// the options that the family always has. Windows have 24 positions; those of gemma2 and
/// gemma3_text apply to the first layer only.
proto::ModelConfig TinyConfig(const std::string& model_type);

/// `count` random ids below `vocab_size`, none of which is `avoid`.
std::vector<proto::TokenId> RandomTokens(std::uint64_t seed, std::size_t count,
                                         std::int64_t vocab_size, proto::TokenId avoid = -1);

}  // namespace scorecast::reference
