#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/forward_plan.h"
#include "shard/attention/kv_store.h"
#include "shard/attention/row_map.h"
#include "shard/attention/segment_attention.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/exchange/row_exchange.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/arithmetic.h"
#include "shard/linear/linear.h"
#include "shard/runtime/thread_pool.h"
#include "shard/transformer/layer.h"
#include "shard/transformer/lm_head.h"
#include "shard/transformer/phase_times.h"
#include "shard/transformer/rope_table.h"
#include "shard/transformer/workspace.h"

namespace scorecast::shard {

/// One rank's share of a decoder-only transformer. What a family adds or leaves out is in
/// ModelConfig; there is one forward pass.
///
/// Each row of the residual stream has one owner among the ranks, which adds up what the ranks make
/// of it, normalises it, and shares the normalised row with all (see RowExchange). The last layer
/// computes keys and values of all rows, and the rest only of the rows that are read.
class Transformer {
 public:
  /// What the ranks exchange rows through: collective, before any of them reads its weights.
  static RowExchange MakeExchange(
      const proto::Communicator& group, const proto::ModelConfig& config, Precision precision,
      const proto::PlanLimits& limits,
      RowExchange::Transport transport = RowExchange::Transport::kFastest);

  /// Told after each layer's weights how many layers have theirs.
  using Progress = std::function<void(std::int64_t done, std::int64_t layers)>;

  /// Reads this rank's slices. `checkpoint` stays mapped: embedding rows are read from it.
  /// StartupError where a tensor is missing, misshapen or not accounted for. `exchange` is
  /// MakeExchange's for the same model, precision and limits.
  Transformer(const proto::ModelConfig& config, const Checkpoint& checkpoint, RowExchange& exchange,
              Arithmetic& arithmetic, const Kernels& kernels, ThreadPool& pool,
              const proto::PlanLimits& limits, const Progress& progress);

  /// Collective, before the first plan: touches the memory that plans of this bucket, or a smaller
  /// one, use.
  void Touch(std::uint32_t bucket);

  /// Computes the plan together with the other ranks and returns this rank's answer (answer.h).
  std::vector<std::byte> Forward(const proto::ForwardPlan& plan);

  /// Of all passes so far.
  const PhaseTimes& phase_times() const { return times_; }
  const RowExchange& exchange() const { return exchange_; }

 private:
  /// The rows that a part of a pass computes: their places in the plan and who owns them.
  struct Scope {
    const RowMap& map;
    const RowSlices& owners;
    /// [rows]: whose residual stream a row is; empty where row i is row i.
    std::span<const std::int32_t> origin;

    std::int64_t rows() const { return static_cast<std::int64_t>(map.rows().size()); }
    std::int64_t Origin(std::int64_t row) const {
      return origin.empty() ? row : origin[static_cast<std::size_t>(row)];
    }
  };

  /// Divides the buffers among their arrays as the plan's bucket says.
  void LayOut(std::uint32_t bucket);
  void FindRows(const proto::ForwardPlan& plan);
  void Embed(const proto::ForwardPlan& plan);
  /// Keys and values of all rows into the store, and queries of `scope`.
  void Project(const proto::ForwardPlan& plan, std::int64_t index, const Scope& scope);
  void Attend(const proto::ForwardPlan& plan, std::int64_t index, const Scope& scope);
  void FeedForward(const Layer& layer, const Scope& scope);
  std::vector<std::byte> Read(const proto::ForwardPlan& plan, const Scope& scope);

  /// Takes what one chunk of the QKV product gives to where it belongs. Keys and values of all rows
  /// are stored when the product is done: attention may read those of any sequence of the plan.
  void FinishQkv(const proto::ForwardPlan& plan, std::int64_t index, const RowMap& map,
                 const ProductTile& tile);
  /// A part of a row-sharded product: for the exchange, or, of a rank that is alone, at once into
  /// the residual stream.
  void TakeSummands(const Scope& scope, const ProductTile& tile);
  /// The residual stream of own rows += the ranks' summands, in rank order, + bias.
  void AddSummands(const Scope& scope, const std::vector<float>& bias);
  /// Normalises own rows into the rows that all ranks see.
  void ShareNormed(const Scope& scope, const std::vector<float>& weight, const Activations& to);
  /// Rounds rows of floats to what a product takes, unless that is what they are.
  void Round(std::int64_t rows, Rows<float> from, const Activations& to);
  /// Calls body(row, thread) for each row of a range.
  template <typename Body>
  void ForEachRow(proto::Range rows, Body body);

  const proto::ModelConfig config_;
  const proto::PlanLimits limits_;
  const proto::Partition partition_;
  const TensorView& embedding_;  // [vocab_size, h], mapped
  const Kernels& kernels_;
  ThreadPool& pool_;
  TileScratch tiles_;

  std::vector<Layer> layers_;
  std::vector<float> final_norm_;  // [h]
  LmHead lm_head_;
  RopeTable rope_;
  KvStore kv_store_;
  SegmentAttention attention_;
  Workspace work_;
  bool summands_are_bf16_;
  RowExchange& exchange_;
  Activations normed_;      // [rows, h], in the exchange
  Activations final_rows_;  // [rows read, h], in the exchange: float32
  PhaseTimes times_;

  // Of the present plan.
  RowMap all_rows_;
  RowMap read_rows_;                       // Each row that is read once, in ascending order.
  std::vector<std::int32_t> read_origin_;  // [rows read]: among all rows
  std::vector<std::int32_t> read_index_;   // [reads]: among the rows read
  RowSlices all_owners_;
  RowSlices read_owners_;
};

}  // namespace scorecast::shard
