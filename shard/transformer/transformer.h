#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"
#include "shard/attention/kv_store.h"
#include "shard/attention/row_map.h"
#include "shard/attention/segment_attention.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/gemm_backend.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"
#include "shard/transformer/layer.h"
#include "shard/transformer/lm_head.h"
#include "shard/transformer/rope_table.h"

namespace scorecast::shard {

/// Activations of the largest plan; a smaller one uses their first rows.
class Workspace {
 public:
  Workspace(const proto::ModelConfig& config, const proto::Partition& partition,
            const proto::PlanLimits& limits);

  static std::int64_t Bytes(const proto::ModelConfig& config, const proto::Partition& partition,
                            const proto::PlanLimits& limits);

  Rows<float> hidden;     ///< [rows, h]: the residual stream, equal on all ranks.
  Rows<float> normed;     ///< [rows, h]
  Rows<float> qkv;        ///< [rows, q + 2 kv]
  Rows<float> attention;  ///< [rows, q]
  Rows<float> summand;    ///< [rows, h]: this rank's part of a row-sharded product, then the sum.
  Rows<float> gate_up;    ///< [rows, 2 i]; the first i become silu(gate) · up.
  Rows<float> read_rows;  ///< [reads, h]: the rows read, after the final norm.

 private:
  AlignedBuffer<float> buffer_;
};

/// One rank's share of a decoder-only transformer. What a family adds or leaves out is in
/// ModelConfig; there is one forward pass.
class Transformer {
 public:
  /// Reads this rank's slices. `checkpoint` stays mapped: embedding rows are read from it.
  /// StartupError where a tensor is missing, misshapen or not accounted for.
  Transformer(const proto::ModelConfig& config, const Checkpoint& checkpoint,
              proto::Communicator& group, GemmBackend& backend, const Kernels& kernels,
              ThreadPool& pool, const proto::PlanLimits& limits);

  /// Computes the plan together with the other ranks and returns this rank's answer (answer.h).
  std::vector<std::byte> Forward(const proto::ForwardPlan& plan);

 private:
  void Embed(const proto::ForwardPlan& plan);
  void Attend(const proto::ForwardPlan& plan, std::int64_t index, const Layer& layer);
  void FeedForward(const Layer& layer);

  /// Biases, q and k norms and RoPE on one row of qkv; stores its keys and values.
  void FinishQkvRow(const proto::ForwardPlan& plan, std::int64_t index, const Layer& layer,
                    std::int64_t row);
  void Norm(const std::vector<float>& weight, Rows<const float> in, Rows<float> out);
  /// hidden += the ranks' sum of `summand` (+ bias).
  void AddSumOverRanks(const std::vector<float>& bias);
  /// Calls body(row) for each computed row.
  template <typename Body>
  void ForEachRow(Body body);

  const proto::ModelConfig config_;
  const proto::PlanLimits limits_;
  const proto::Partition partition_;
  const TensorView& embedding_;  // [vocab_size, h], mapped
  proto::Communicator& group_;
  const Kernels& kernels_;
  ThreadPool& pool_;

  std::vector<Layer> layers_;
  std::vector<float> final_norm_;  // [h]
  LmHead lm_head_;
  RopeTable rope_;
  KvStore kv_store_;
  SegmentAttention attention_;
  RowMap row_map_;
  Workspace work_;
  std::int64_t rows_ = 0;  // Of the present plan.
};

}  // namespace scorecast::shard
