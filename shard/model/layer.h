#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/linear/linear.h"
#include "shard/linear/packing.h"

namespace scorecast::shard {

/// This rank's part of one decoder layer. q, kv and i are the widths of the rank's query heads, its
/// K/V heads and its intermediate range; h is hidden_size. Vectors that a family does not have are
/// empty.
struct Layer {
  std::vector<float> input_norm;   ///< [h]
  Linear qkv;                      ///< [q + 2 kv, h]: queries, keys, values; whole heads a chunk.
  std::int64_t query_chunks = 0;   ///< Of qkv; those of keys and values follow.
  std::vector<float> qkv_bias;     ///< [q + 2 kv]
  std::vector<float> query_norm;   ///< [head_dim]
  std::vector<float> key_norm;     ///< [head_dim]
  Linear output;                   ///< [h, q]: this rank's summand.
  std::vector<float> output_bias;  ///< [h], added once, to the sum over ranks.
  std::vector<float> post_attention_norm;  ///< [h]
  Linear gate_up;                          ///< [2 i, h]: of each chunk, gate, then up.
  std::vector<float> gate_bias;            ///< [i]
  std::vector<float> up_bias;              ///< [i]
  Linear down;                             ///< [h, i]: this rank's summand.
  std::vector<float> down_bias;            ///< [h], added once, to the sum over ranks.
};

/// Reads the slices of layer `index` that `partition` owns, in Hugging Face's tensor names, packs
/// them, and lets their pages of the file go. In int8 the norms' weights are multiplied into the
/// columns of what follows them, since a large one would take the bits of all others.
/// StartupError where a tensor is missing or misshapen.
Layer LoadLayer(const Checkpoint& checkpoint, const proto::ModelConfig& config,
                const proto::Partition& partition, std::int64_t index, const Packing& packing);

/// StartupError where the checkpoint has a tensor that the configuration does not account for (a
/// bias, one layer more): computing without it would give other scores.
void RefuseUnknownTensors(const Checkpoint& checkpoint, const proto::ModelConfig& config);

}  // namespace scorecast::shard
