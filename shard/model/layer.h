#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/exchange/column_exchange.h"
#include "shard/linear/linear.h"
#include "shard/model/norm.h"

namespace scorecast::shard {

/// Rows of gate that stand together in Layer::gate_up. The last block of a chunk may be narrower.
inline constexpr std::int64_t kGateBlock = 64;

/// This rank's part of one layer. q, kv and i are the widths of the rank's query heads, its
/// K/V heads and its intermediate range; h is hidden_size. A vector is empty if the layer does not
/// have it.
struct Layer {
  std::int64_t index = 0;
  proto::LayerConfig options;
  Norm input_norm;                 ///< [h]
  Linear qkv;                      ///< [q + 2 kv, h]: queries, keys, values, in chunks of heads.
  std::int64_t query_chunks = 0;   ///< Chunks of queries in qkv; those of keys and values follow.
  std::vector<float> qkv_bias;     ///< [q + 2 kv]
  Norm query_norm;                 ///< [head_dim]
  Norm key_norm;                   ///< [head_dim]
  Linear output;                   ///< [h, q], in blocks: gives this rank's summands.
  std::vector<float> output_bias;  ///< [h], added once, to the sum over ranks.
  Norm post_attention_norm;        ///< [h]: norm of that sum.
  Norm attention_residual_norm;    ///< [h]: norm of the residual stream, when the sum is in it.
  Norm pre_feedforward_norm;       ///< [h]
  /// [2 i, h]: blocks of kGateBlock gates, each followed by a block of as many ups. Without gates,
  /// [i, h]: ups.
  Linear gate_up;
  std::vector<float> gate_bias;    ///< [i]
  std::vector<float> up_bias;      ///< [i]
  Linear down;                     ///< [h, i], in blocks: gives this rank's summands.
  std::vector<float> down_bias;    ///< [h], added once, to the sum over ranks.
  Norm post_feedforward_norm;      ///< [h]: norm of that sum.
  Norm feedforward_residual_norm;  ///< [h]: norm of the residual stream, when the sum is in it.
};

/// Whether ranks write summands to the exchange. A rank that is alone adds its products straight to
/// the residual stream, unless a layer normalises their sum first.
bool UsesSummands(const proto::ModelConfig& config, bool is_alone);

/// Columns that are in memory already, of tensors of the checkpoint.
using LayerColumns = std::map<const TensorView*, ColumnsInMemory>;

/// Reads the slices of layer `index` that `partition` owns, packs them, and releases their pages of
/// the file. In int8, the weights of a norm before a product are multiplied into the product's
/// columns, because in the activations a large weight would leave too few bits for the other
/// channels. That needs a norm without bias, whose rows go to that product only. Throws
/// StartupError if a tensor is missing or misshapen. The rank's columns of tensors in `columns` are
/// taken from there.
Layer LoadLayer(const Checkpoint& checkpoint, const proto::ModelConfig& config,
                const proto::Partition& partition, std::int64_t index, const Packing& packing,
                const LayerColumns& columns = {});

}  // namespace scorecast::shard
